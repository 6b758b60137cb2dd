-- SPDX-License-Identifier: Apache-2.0
-- Router advertisement of IPv6 neighbour discovery, after its ICMPv6 header.
return {
  name = "ra", title = "Router advertisement", source = "RFC 4861, section 4.2",
  over = {icmp6 = 134},
  next = "ndopt",
  fields = {
    {"CurHopLimit", 8, default = 64},
    {"Managed", 1, "flag"},
    {"OtherConfig", 1, "flag"},
    {"Reserved", 6},
    {"RouterLifetime", 16, default = 1800},
    {"ReachableTime", 32},
    {"RetransTimer", 32},
  },
}
