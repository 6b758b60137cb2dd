-- SPDX-License-Identifier: Apache-2.0
-- Multicast listener discovery, version 1, behind its ICMPv6 header: query, report and
-- done. A query of version 2 (RFC 3810) has mld2query behind it.
local SHORTEST_QUERY2 = 24 -- bytes, RFC 3810, section 8.1, without the ICMPv6 header

return {
  name = "mld", title = "MLD", source = "RFC 2710, section 3",
  over = {icmp6 = {130, 131, 132}},
  below = {ip6 = {TTL = 1}},
  next = function (_, left)
    if left >= SHORTEST_QUERY2 then return "mld2query" end
  end,
  fields = {
    {"MaxRespDelay", 16, default = 10000}, -- milliseconds
    {"Reserved", 16},
    {"Group", 128, "ip6", default = "::"},
  },
}
