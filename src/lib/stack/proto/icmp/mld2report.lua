-- SPDX-License-Identifier: Apache-2.0
-- The head of a report of MLD version 2, behind its ICMPv6 header; mld2record follows
-- for each group.
return {
  name = "mld2report", title = "MLDv2 report", source = "RFC 3810, section 5.2",
  over = {icmp6 = 143},
  below = {ip6 = {TTL = 1, Dst = "ff02::16"}},
  next = function (header)
    if header:getRecordCount() > 0 then return "mld2record" end
  end,
  fields = {
    {"Reserved", 16},
    {"RecordCount", 16, default = 1},
  },
}
