-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `dpdk`: starting it, constants, and what was called so before it
-- moved to `libmoon`.

local libmoon = require("moongen.tasks.libmoon")

local dpdk = setmetatable({}, {__index = libmoon})

--- Don't open devices before master() runs; it calls dpdk.init() itself.
function dpdk.skipInit() libmoon.config.skipInit = true end

local done = false

--- Find the devices. They are opened when the first is asked for.
function dpdk.init()
  if done then return true end
  done = true
  require("moongen.devices.start").run()
  return true
end

local function bit64(n) return bit.lshift(1ULL, n) end

-- Flags of mbufs: DPDK 22.11, rte_mbuf_core.h, under the names of 2017.
for name, n in pairs{
  PKT_RX_VLAN_PKT = 0, PKT_RX_RSS_HASH = 1, PKT_RX_FDIR = 2, PKT_RX_L4_CKSUM_BAD = 3,
  PKT_RX_IP_CKSUM_BAD = 4, PKT_RX_IEEE1588_PTP = 9, PKT_RX_IEEE1588_TMST = 10,
  PKT_TX_TCP_SEG = 50, PKT_TX_IEEE1588_TMST = 51, PKT_TX_TCP_CKSUM = 52,
  PKT_TX_SCTP_CKSUM = 53, PKT_TX_IP_CKSUM = 54, PKT_TX_IPV4 = 55, PKT_TX_IPV6 = 56,
  PKT_TX_VLAN_PKT = 57, PKT_TX_OUTER_IP_CKSUM = 58, PKT_TX_OUTER_IPV4 = 59,
  PKT_TX_OUTER_IPV6 = 60, PKT_TX_QINQ_PKT = 49,
} do dpdk[name] = bit64(n) end
dpdk.PKT_TX_UDP_CKSUM = bit.lshift(3ULL, 52)
dpdk.PKT_TX_L4_MASK = dpdk.PKT_TX_UDP_CKSUM
dpdk.PKT_TX_L4_NO_CKSUM, dpdk.PKT_TX_NO_CRC_CSUM = 0ULL, 0ULL

-- Types of flows, numbered as in DPDK 22.11's rte_eth_ctrl.h, and their masks.
for number, name in pairs{[0] = "UNKNOWN", "RAW", "IPV4", "FRAG_IPV4",
  "NONFRAG_IPV4_TCP", "NONFRAG_IPV4_UDP", "NONFRAG_IPV4_SCTP", "NONFRAG_IPV4_OTHER",
  "IPV6", "FRAG_IPV6", "NONFRAG_IPV6_TCP", "NONFRAG_IPV6_UDP", "NONFRAG_IPV6_SCTP",
  "NONFRAG_IPV6_OTHER", "L2_PAYLOAD", "IPV6_EX", "IPV6_TCP_EX", "IPV6_UDP_EX", "MAX"} do
  dpdk["RTE_ETH_FLOW_" .. name] = number
  if number >= 2 then dpdk["ETH_RSS_" .. name] = bit64(number) end
end

return dpdk
