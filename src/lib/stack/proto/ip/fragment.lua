-- SPDX-License-Identifier: Apache-2.0
-- IPv6 fragment header, RFC 8200. Offset counts units of 8 bytes; what follows the
-- header of a later fragment is not the start of the next one.
return {
  name = "fragment", title = "Fragment", source = "RFC 8200, section 4.5",
  over = {ip4 = 44},
  next = {field = "NextHeader", as = "ip4", when = {Offset = 0}},
  fields = {
    {"NextHeader", 8, default = 59},
    {"Reserved", 8},
    {"Offset", 13},
    {"Reserved2", 2},
    {"MoreFragments", 1, "flag"},
    {"Identification", 32},
  },
}
