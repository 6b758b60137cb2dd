-- SPDX-License-Identifier: Apache-2.0
-- Neighbour solicitation of IPv6 neighbour discovery, after its ICMPv6 header.
return {
  name = "ns", title = "Neighbor solicitation", source = "RFC 4861, section 4.3",
  over = {icmp6 = 135},
  next = "ndopt",
  fields = {
    {"Reserved", 32},
    {"Target", 128, "ip6", default = "fe80::2"},
  },
}
