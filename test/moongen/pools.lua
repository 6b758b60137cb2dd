-- SPDX-License-Identifier: Apache-2.0
-- Sends all buffers of a pool of N at once, TIMES times, over a ring from device 0 to
-- device 1, whose QUEUES are emptied by tasks.

local barrier = require "barrier"
local device = require "device"
local lm = require "libmoon"
local memory = require "memory"

function master(n, times, queues)
  local tx = device.config{port = 0}:getTxQueue(0)
  local rx = device.config{port = 1, rxQueues = queues, rssQueues = queues}
  local all = barrier:new(queues + 1)
  for i = 0, queues - 1 do lm.startTask("receive", rx:getRxQueue(i), all) end
  print("sent", lm.startTask("send", tx, n, times, all):wait())
  lm.stop()
  lm.waitForTasks()
end

function send(queue, n, times, all)
  local mem = memory.createMemPool(n, function (buf)
    buf:getUdpPacket():fill{pktLength = 60}
  end)
  local bufs, sent = mem:bufArray(n), 0
  all:wait()
  for _ = 1, times do
    bufs:alloc(60)
    for i, buf in ipairs(bufs) do buf:getUdpPacket().udp:setSrcPort(i) end
    sent = sent + queue:send(bufs)
  end
  return sent
end

function receive(queue, all)
  local bufs = memory.bufArray()
  all:wait()
  while lm.running() do bufs:free(queue:tryRecvIdle(bufs, 1000)) end
end
