-- SPDX-License-Identifier: Apache-2.0
-- Cards with one queue each way: those of DPDK's net_e1000_em. It reports two, but all
-- that a card receives comes by the first, and some cards have no second one to send by
-- (Intel's 82540EM).

local M = {}

local INTEL = "0x8086"

-- Their devices' numbers: DPDK 22.11, drivers/net/e1000/em_ethdev.c; PCI ID Repository.
local devices = {}
for number in ([[
  100e 100f 1010 1011 1012 101d 105e 105f 1060 107d 107e 107f 109a 10a4
  10a5 10b9 10bc 10d3 10d5 10d9 10da 10f6 1502 150c 153a 153b 1559 155a
  156f 1570 15a0 15a1 15a2 15a3 15b7 15b8 15b9 15bb 15bc 15bd 15be 15d6
  15d7 15d8 15e3
]]):gmatch("%x+") do devices["0x" .. number] = true end

--- Has a card of these numbers ("0x8086", "0x10d3") one queue only?
function M.is(vendor, device) return vendor == INTEL and devices[device] == true end

return M
