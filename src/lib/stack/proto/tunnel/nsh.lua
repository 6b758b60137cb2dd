-- SPDX-License-Identifier: Apache-2.0
-- Network Service Header, RFC 8300, section 2. Without context it is of MD type 2;
-- for MD type 1 take {"nsh", length = 16} and nshMDType = 1.

return {
  name = "nsh", title = "Network Service Header", source = "RFC 8300, section 2",
  over = {eth = 0x894f, nsh = 4},
  next = {field = "NextProtocol"},
  fields = {
    {"Version", 2},
    {"OAM", 1, "flag"},
    {"Reserved", 1},
    {"TTL", 6, default = 63},
    {"Length", 6, length = "header", unit = 4},
    {"Reserved2", 4},
    {"MDType", 4, default = 2},
    {"NextProtocol", 8, default = 3},
    {"SPI", 24, default = 1},
    {"SI", 8, default = 255},
  },
  variable = {"context", from = "Length"}, pad = 4,
  check = function (header)
    if header:getMDType() == 1 and header:getLength() ~= 6 then
      return "its length isn't 6 words though its MD type is 1"
    end
  end,
}
