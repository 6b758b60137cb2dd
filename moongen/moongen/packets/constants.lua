-- SPDX-License-Identifier: Apache-2.0
-- Flags of an mbuf's ol_flags under libmoon's names, with the bits of DPDK 22.11
-- (rte_mbuf_core.h). Those of cards of 2015 that DPDK has no bit for are 0.

local bit = require("bit")

local function flag(n) return bit.lshift(1ULL, n) end

local constants = {
  PKT_RX_VLAN_PKT = flag(0), PKT_RX_RSS_HASH = flag(1), PKT_RX_FDIR = flag(2),
  PKT_RX_L4_CKSUM_BAD = flag(3), PKT_RX_IP_CKSUM_BAD = flag(4),
  PKT_RX_IEEE1588_PTP = flag(9), PKT_RX_IEEE1588_TMST = flag(10),
  PKT_RX_FDIR_ID = flag(13), PKT_RX_FDIR_FLX = flag(14),
  PKT_TX_QINQ_PKT = flag(49), PKT_TX_TCP_SEG = flag(50),
  PKT_TX_IEEE1588_TMST = flag(51), PKT_TX_L4_NO_CKSUM = 0ULL,
  PKT_TX_TCP_CKSUM = flag(52), PKT_TX_SCTP_CKSUM = flag(53),
  PKT_TX_UDP_CKSUM = bit.lshift(3ULL, 52), PKT_TX_L4_MASK = bit.lshift(3ULL, 52),
  PKT_TX_IP_CKSUM = flag(54), PKT_TX_IPV4 = flag(55), PKT_TX_IPV6 = flag(56),
  PKT_TX_VLAN_PKT = flag(57), PKT_TX_OUTER_IP_CKSUM = flag(58),
  PKT_TX_OUTER_IPV4 = flag(59), PKT_TX_OUTER_IPV6 = flag(60),
}

for name in ([[
  EIP_CKSUM_BAD OVERSIZE HBUF_OVERFLOW RECIP_ERR MAC_ERR IPV4_HDR IPV4_HDR_EXT
  IPV6_HDR IPV6_HDR_EXT TUNNEL_IPV4_HDR TUNNEL_IPV6_HDR IPSEC_SECP SECERR_MSB
  SECERR_LSB]]):gmatch("%S+") do
  constants["PKT_RX_" .. name] = 0ULL
end
constants.PKT_TX_NO_CRC_CSUM, constants.PKT_TX_IPSEC = 0ULL, 0ULL

return constants
