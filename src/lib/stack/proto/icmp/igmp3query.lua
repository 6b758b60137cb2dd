-- SPDX-License-Identifier: Apache-2.0
-- What a membership query of IGMP version 3 has behind the fields of version 2.
return {
  name = "igmp3query", title = "IGMPv3 query", source = "RFC 3376, section 4.1",
  fields = {
    {"Reserved", 4},
    {"Suppress", 1, "flag"},
    {"Robustness", 3, default = 2},
    {"QueryInterval", 8, default = 125},
    {"SourceCount", 16, length = "variable", unit = 4},
  },
  variable = {"sources", from = "SourceCount"}, pad = 4,
}
