-- SPDX-License-Identifier: Apache-2.0
-- Sends packets from device 0 to device 1, as scripts of 2015 did that measured
-- latencies themselves, and prints how many stamps were in order. Takes how many
-- receive queues device 1 has.

local device, dpdk = require "device", require "dpdk"
local memory, ts = require "memory", require "timestamping"

local SIZE, PORT, TIMES = 80, 1234, 5

function master(rxQueues)
  local n = tonumber(rxQueues)
  local from = device.config(0, memory.createMemPool(), 1, 1)
  local to = device.config(1, memory.createMemPool(), n, 1)
  device.waitForDevs(from, to)
  local tx, rx = from:getTxQueue(0), to:getRxQueue(n - 1)
  tx:enableTimestamps()
  rx:enableTimestamps(PORT)
  to:filterTimestamps(rx)
  local bufs, received = memory.createMemPool():bufArray(1), memory.bufArray(128)
  local before, ordered = 0, 0
  print("before", rx:getTimestamp())
  for _ = 1, TIMES do
    bufs:alloc(SIZE)
    ts.fillPacket(bufs[1], PORT, SIZE)
    bufs[1]:getUdpPacket().ip.src:set(0xc0a80101)
    bufs:offloadUdpChecksums()
    tx:send(bufs)
    local sent = tx:getTimestamp(100)
    repeat until rx:tryRecv(received, 10000) > 0
    local came = rx:getTimestamp()
    if before < sent and sent < came and received[1].pkt.pkt_len == SIZE then
      ordered = ordered + 1
    end
    before = came
    received:freeAll()
  end
  print("in order", ordered, tonumber(to:getRxStatsAll().ipackets))
  if dpdk.running() then bufs:alloc(SIZE) end
  bufs[1].length = "x"
end
