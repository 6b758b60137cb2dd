-- SPDX-License-Identifier: Apache-2.0
-- Sends UDP packets from one device, and counts them at another.
local mg     = require "moongen"
local device = require "device"
local memory = require "memory"
--
function configure(parser)
  parser:argument("tx", "Device to send from."):convert(tonumber)
  parser:argument("rx", "Device to receive at."):convert(tonumber)
  parser:option("-t --time", "Seconds."):default(1):convert(tonumber)
end
--
function master(args)
  local tx = device.config{port = args.tx, txQueues = 1}
  local rx = device.config{port = args.rx, rxQueues = 1}
  device.waitForLinks()
  tx:getTxQueue(0):setRate(10) -- Mbit/s, on the wire
  mg.setRuntime(args.time)
  mg.startTask("send", tx:getTxQueue(0))
  mg.startTask("receive", rx:getRxQueue(0))
  mg.waitForTasks()
end
--
function send(queue)
  local pool = memory.createMemPool(function(buf)
    buf:getUdpPacket():fill{pktLength = 60, ip4Dst = "10.0.0.2", udpDst = 1234}
  end)
  local bufs = pool:bufArray()
  while mg.running() do
    bufs:alloc(60)
    for i, buf in ipairs(bufs) do
      buf:getUdpPacket().udp:setSrcPort(1000 + i)
    end
    bufs:offloadUdpChecksums()
    queue:send(bufs)
  end
end
--
function receive(queue)
  local bufs, count = memory.bufArray(), 0
  while mg.running() do
    local n = queue:tryRecv(bufs, 10000)
    for i = 1, n do
      if bufs[i]:getUdpPacket().udp:getDstPort() == 1234 then count = count + 1 end
    end
    bufs:free(n)
  end
  print(count > 1000 and "received over a thousand" or count)
end
