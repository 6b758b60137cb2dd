-- SPDX-License-Identifier: Apache-2.0
-- IPsec authentication header, RFC 4302. The integrity check value `icv` is a variable
-- member; "gmac" has the IV and ICV of AES-GMAC (RFC 4543) as fields.
local function fields(...)
  return {
    {"NextHeader", 8, default = 59},
    {"Length", 8, length = "header", unit = 4, bias = -2},
    {"Reserved", 16},
    {"SPI", 32},
    {"SQN", 32},
    ...,
  }
end

return {
  name = "ah", title = "AH", source = "RFC 4302, section 2",
  over = {ip4 = 51},
  next = {field = "NextHeader", as = "ip4"},
  variable = {"icv", from = "Length"}, pad = 4,
  fields = fields(),
  subtypes = {
    gmac = {fields = fields({"IV", 64}, {"ICV", 128, "bytes"})},
  },
}
