-- SPDX-License-Identifier: Apache-2.0
-- What a query of MLD version 2 has behind the fields of version 1.
return {
  name = "mld2query", title = "MLDv2 query", source = "RFC 3810, section 5.1",
  fields = {
    {"Reserved", 4},
    {"Suppress", 1, "flag"},
    {"Robustness", 3, default = 2},
    {"QueryInterval", 8, default = 125},
    {"SourceCount", 16, length = "variable", unit = 16},
  },
  variable = {"sources", from = "SourceCount"}, pad = 16,
}
