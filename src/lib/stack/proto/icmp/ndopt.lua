-- SPDX-License-Identifier: Apache-2.0
-- One option of IPv6 neighbour discovery; by default a source link-layer address. Each
-- is a multiple of 8 bytes, and of no other length (RFC 4861, section 4.6).
return {
  name = "ndopt", title = "ND option", source = "RFC 4861, section 4.6",
  next = "ndopt",
  variable = {"data", from = "Length"}, pad = 8,
  fields = {
    {"Type", 8, default = 1, values = {
      "source link-layer address", "target link-layer address", "prefix information",
      "redirected header", "MTU",
    }},
    {"Length", 8, length = "header", unit = 8},
    {"Address", 48, "mac", default = "02:00:00:00:00:01"},
  },
}
