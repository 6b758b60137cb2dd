-- SPDX-License-Identifier: Apache-2.0
-- Redirect of IPv6 neighbour discovery, after its ICMPv6 header.
return {
  name = "redirect", title = "Redirect", source = "RFC 4861, section 4.5",
  over = {icmp6 = 137},
  next = "ndopt",
  fields = {
    {"Reserved", 32},
    {"Target", 128, "ip6", default = "fe80::1"},
    {"Dst", 128, "ip6", default = "fe80::3"},
  },
}
