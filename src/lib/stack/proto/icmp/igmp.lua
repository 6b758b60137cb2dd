-- SPDX-License-Identifier: Apache-2.0
-- IGMP version 2, RFC 2236; a query of version 3 (RFC 3376) has igmp3query behind it,
-- "report3" is the head of a report of version 3, with igmp3record for each group.
local TYPE = {"Type", 8, default = 0x11, values = {
  [0x11] = "membership query", [0x12] = "membership report v1",
  [0x16] = "membership report v2", [0x17] = "leave group",
  [0x22] = "membership report v3",
}}

local QUERY = 0x11
local SHORTEST_QUERY3 = 12 -- bytes, RFC 3376, section 7.1

return {
  name = "igmp", title = "IGMP", source = "RFC 2236, section 2; RFC 3376, section 4.2",
  over = {ip4 = 2},
  below = {ip4 = {TTL = 1}},
  next = function (header, left)
    local query = header:getType() == QUERY
    if query and left >= SHORTEST_QUERY3 then return "igmp3query" end
  end,
  fields = {
    TYPE,
    {"MaxRespTime", 8, default = 100},
    {"Checksum", 16, checksum = "all"},
    {"Group", 32, "ip4", default = "0.0.0.0"},
  },
  subtypes = {
    report3 = {
      when = {Type = 0x22},
      next = function (header)
        if header:getRecordCount() > 0 then return "igmp3record" end
      end,
      fields = {
        TYPE,
        {"Reserved", 8},
        {"Checksum", 16, checksum = "all"},
        {"Reserved2", 16},
        {"RecordCount", 16, default = 1},
      },
    },
  },
}
