-- SPDX-License-Identifier: Apache-2.0
-- One group record of an IGMPv3 report; others follow it. Auxiliary data, which no
-- standard defines, isn't known.
return {
  name = "igmp3record", title = "IGMPv3 record", source = "RFC 3376, section 4.2.4",
  next = "igmp3record",
  fields = {
    {"Type", 8, default = 4, values = {
      "is include", "is exclude", "to include", "to exclude", "allow new sources",
      "block old sources",
    }},
    {"AuxLength", 8},
    {"SourceCount", 16, length = "variable", unit = 4},
    {"Group", 32, "ip4", default = "224.0.0.251"},
  },
  variable = {"sources", from = "SourceCount"}, pad = 4,
  check = function (header)
    if header:getAuxLength() ~= 0 then return "it has auxiliary data" end
  end,
}
