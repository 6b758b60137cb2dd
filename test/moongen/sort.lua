-- SPDX-License-Identifier: Apache-2.0
-- Sorts what device 0 receives: by rules to queues 1 and 2, what is left by its hash to
-- queues 3 and 4. Written as for the API of 2015. Prints what each queue got.

local device = require "device"
local dpdk = require "dpdk"
local memory = require "memory"

local SORTED = 900 -- of 1000; a rule drops the others

function master(port)
  local dev = device.config(port, 5, 1)
  dev:setRssQueues(2, 3)
  dev:l2Filter(0x0806, dev:getRxQueue(1))
  dev:fiveTupleFilter({dstPort = 53, proto = 17}, 2)
  dev:fiveTupleFilter({dstPort = 9}, device.DROP)
  local tasks = {}
  for i = 0, 4 do tasks[i] = dpdk.launchLua("count", dev:getRxQueue(i)) end
  local function taken()
    local sum = 0
    for i = 0, 4 do sum = sum + tonumber(dev:getRxQueue(i).queue.packets) end
    return sum
  end
  local ends = dpdk.getTime() + 40
  while taken() < SORTED and dpdk.getTime() < ends do dpdk.sleepMillisIdle(10) end
  dpdk.stop()
  dpdk.waitForSlaves()
  for i = 0, 4 do print("queue", i, tasks[i]:wait()) end
  print("device", (dev:getRxStats()))
end

function count(queue)
  local bufs, n, flows = memory.bufArray(16), 0, {}
  while dpdk.running() do
    local rx = queue:tryRecv(bufs, 1000)
    for i = 1, rx do
      local udp = bufs[i]:getUdpPacket().udp
      flows[udp:getSrcPort()] = true
    end
    n = n + rx
    bufs:free(rx)
  end
  local ports = {}
  for port in pairs(flows) do ports[#ports + 1] = port end
  table.sort(ports)
  return n, table.concat(ports, ",")
end
