-- SPDX-License-Identifier: Apache-2.0
-- One group record of an MLDv2 report; others follow it. Auxiliary data, which no
-- standard defines, isn't known.
return {
  name = "mld2record", title = "MLDv2 record", source = "RFC 3810, section 5.2.5",
  next = "mld2record",
  fields = {
    {"Type", 8, default = 4, values = {
      "is include", "is exclude", "to include", "to exclude", "allow new sources",
      "block old sources",
    }},
    {"AuxLength", 8},
    {"SourceCount", 16, length = "variable", unit = 16},
    {"Group", 128, "ip6", default = "ff02::fb"},
  },
  variable = {"sources", from = "SourceCount"}, pad = 16,
  check = function (header)
    if header:getAuxLength() ~= 0 then return "it has auxiliary data" end
  end,
}
