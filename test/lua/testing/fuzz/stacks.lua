-- SPDX-License-Identifier: Apache-2.0
-- The stacks that every fuzzed packet is checked against. Together they name every
-- protocol of the library (the spec asserts it), and subtypes, optional fields and
-- variable members of them.

local inner_eth = {"eth", name = "innerEth"}
local inner_ip4 = {"ip4", name = "innerIp4"}
local inner_ip6 = {"ip6", name = "innerIp6"}
local inner_udp = {"udp", name = "innerUdp"}
local qinq = {"eth", subType = "qinq"}
local tagged = {"eth", subType = "vlan"}

return {
  {"eth"},
  {"eth", "arp"},
  {"eth", "ip4"},
  {"eth", {"ip4", length = 8}, "udp"},
  {"eth", "ip4", "icmp", "echo"},
  {"eth", "ip4", "igmp"},
  {"eth", "ip4", "tcp"},
  {"eth", "ip4", {"tcp", length = 12}},
  {"eth", "ip4", "sctp"},
  {"eth", "ip4", "esp"},
  {"eth", "ip4", {"ah", length = 12}, "udp"},
  {"eth", "ip4", {"ah", subType = "gmac"}},
  {"eth", "ip4", "gre", inner_ip4, "tcp"},
  {"eth", "ip4", {"gre", with = {"ChecksumPresent", "KeyPresent"}}, inner_eth, "arp"},
  {"eth", "ip4", inner_ip4, "udp"},
  {"eth", "ip4", "l2tpv3", inner_eth, inner_ip4, "udp"},
  {"eth", "ip4", "udp", "vxlan", inner_eth, inner_ip4, "tcp"},
  {"eth", "ip4", "udp", {"geneve", length = 8}, inner_eth, inner_ip6, inner_udp},
  {"eth", "ip4", "udp", {"gtpu", length = 4}, inner_ip4, "tcp"},
  {"eth", "ip4", "udp", "gtpu", inner_ip6, inner_udp},
  {"eth", "ip4", "udp", "dns"},
  {"eth", "ip4", "udp", "dhcp"},
  {"eth", "ip4", "udp", "bfd"},
  {"eth", "ip4", "udp", "sflow"},
  {"eth", "ip4", "udp", {"sflow", subType = "ip6"}},
  {"eth", "ip4", "udp", "ipfix"},
  {"eth", "ip4", "udp", "ptp"},
  {"eth", "ip6", "tcp"},
  {"eth", "ip6", "udp", "dns"},
  {"eth", "ip6", "icmp6", "echo"},
  {"eth", "ip6", "icmp6", "ns", "ndopt"},
  {"eth", "ip6", "icmp6", "na", "ndopt"},
  {"eth", "ip6", "icmp6", "ra", "ndopt"},
  {"eth", "ip6", "icmp6", "rs"},
  {"eth", "ip6", "icmp6", "redirect"},
  {"eth", "ip6", "fragment", "udp"},
  {"eth", "ip6", {"hopopts", length = 8}, {"destopts", length = 8}, "udp"},
  {"eth", "ip6", "routing", "tcp"},
  {"eth", "ip6", {"srh", length = 32}, inner_ip4, "udp"},
  {"eth", "ip6", "l2tpv3", inner_eth, "ip4"},
  {"eth", "mpls", {"mpls", name = "innerMpls"}, "ip4", "udp"},
  {"eth", "pppoe", "ppp", "ip4", "udp"},
  {"eth", "lacp"},
  {"eth", "ptp"},
  {"eth", {"nsh", length = 16}, inner_eth, "ip4", "udp"},
  {"eth", "nsh", "ip6", "tcp"},
  {tagged, "ip4", "udp"},
  {tagged, "ip6", "udp"},
  {qinq, "ip4", "tcp"},
  {qinq, "arp"},
  {qinq, "vlan", {"vlan", name = "innerVlan"}, "ip4", "udp"},
}
