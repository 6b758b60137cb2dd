-- SPDX-License-Identifier: Apache-2.0
-- Geneve, RFC 8926, section 3.4. What follows is named by its EtherType; a frame
-- has 0x6558.

return {
  name = "geneve", title = "Geneve", source = "RFC 8926, section 3.4",
  over = {udp = 6081},
  next = {field = "Protocol", as = "eth"},
  fields = {
    {"Version", 2},
    {"OptionsLength", 6, length = "variable", unit = 4},
    {"Control", 1, "flag"},
    {"Critical", 1, "flag"},
    {"Reserved", 6},
    {"Protocol", 16, default = 0x6558},
    {"VNI", 24},
    {"Reserved2", 8},
  },
  variable = {"options", from = "OptionsLength"}, pad = 4,
}
