-- SPDX-License-Identifier: Apache-2.0
-- Neighbour advertisement of IPv6 neighbour discovery, after its ICMPv6 header.
return {
  name = "na", title = "Neighbor advertisement", source = "RFC 4861, section 4.4",
  over = {icmp6 = 136},
  next = "ndopt",
  fields = {
    {"Router", 1, "flag"},
    {"Solicited", 1, "flag", default = true},
    {"Override", 1, "flag", default = true},
    {"Reserved", 29},
    {"Target", 128, "ip6", default = "fe80::1"},
  },
}
