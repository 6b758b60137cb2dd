-- SPDX-License-Identifier: Apache-2.0
-- ICMPv6, RFC 4443: the part that all messages share. "echo" and the neighbour
-- discovery messages ("rs", "ra", "ns", "na", "redirect") hold the rest.
return {
  name = "icmp6", title = "ICMPv6", source = "RFC 4443, section 2.1",
  over = {ip4 = 58},
  next = {field = "Type"},
  fields = {
    {"Type", 8, default = 128, values = {
      [1] = "destination unreachable", [2] = "packet too big", [3] = "time exceeded",
      [4] = "parameter problem", [128] = "echo request", [129] = "echo reply",
      [133] = "router solicitation", [134] = "router advertisement",
      [135] = "neighbor solicitation", [136] = "neighbor advertisement",
      [137] = "redirect",
    }},
    {"Code", 8},
    {"Checksum", 16, checksum = "pseudo"},
  },
}
