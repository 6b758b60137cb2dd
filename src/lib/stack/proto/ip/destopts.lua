-- SPDX-License-Identifier: Apache-2.0
-- IPv6 destination options, RFC 8200. The first six bytes of options belong to the
-- fixed part, as the header is a multiple of 8 bytes; by default they are a PadN
-- option.
return {
  name = "destopts", title = "Destination options", source = "RFC 8200, section 4.6",
  over = {ip4 = 60},
  next = {field = "NextHeader", as = "ip4"},
  variable = {"moreOptions", from = "Length"}, pad = 8,
  fields = {
    {"NextHeader", 8, default = 59},
    {"Length", 8, length = "header", unit = 8, bias = -1},
    {"Options", 48, "bytes", default = "\1\4\0\0\0\0"},
  },
}
