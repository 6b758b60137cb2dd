-- SPDX-License-Identifier: Apache-2.0
-- EtherTypes (RFC 9542, appendix B; IEEE 802.1Q, table 9-1), as wire.h has them for C.

local ether_type = {
  IP4 = 0x0800, ARP = 0x0806, BRIDGED = 0x6558, VLAN = 0x8100, IP6 = 0x86dd,
  LACP = 0x8809, MPLS = 0x8847, MPLS_MULTICAST = 0x8848, QINQ = 0x88a8, LLDP = 0x88cc,
  PTP = 0x88f7,
}

--- [EtherType] = true if a VLAN tag follows: a customer's (802.1Q) or a provider's
--- (802.1ad), which is the outer one of two, or the only one.
ether_type.TAGS = {[ether_type.VLAN] = true, [ether_type.QINQ] = true}

return ether_type
