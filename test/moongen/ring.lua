-- SPDX-License-Identifier: Apache-2.0
-- Sends over a ring from device 0 to device 1, whose queue 0 nobody asks, with numbers
-- in the packets; queue 1 gets them by a filter. Prints what was sent and received.

local barrier = require "barrier"
local device = require "device"
local lm = require "libmoon"
local memory = require "memory"

local TYPE = 0x1234

function master(n)
  local from, to = device.config{port = 0}, device.config{port = 1, rxQueues = 2}
  to:l2Filter(TYPE, to:getRxQueue(1))
  local both = barrier:new(2)
  local receiver = lm.startTask("receive", to:getRxQueue(1), n, both)
  lm.startTask("flood", from:getTxQueue(0))
  lm.startTask("send", from:getTxQueue(0), n, both):wait()
  print("received", receiver:wait())
  lm.stop()
  lm.waitForTasks()
end

function send(queue, n, both)
  local mem = memory.createMemPool(function (buf)
    buf:getEthernetPacket():fill{ethType = TYPE}
  end)
  local bufs, number = mem:bufArray(32), 0
  both:wait()
  while number < n and lm.running() do
    bufs:alloc(60)
    for i, buf in ipairs(bufs) do
      buf:getEthernetPacket().payload.uint32[0] = number + i - 1
    end
    number = number + queue:send(bufs)
  end
end

function flood(queue)
  local bufs = memory.createMemPool():bufArray()
  while lm.running() do
    bufs:alloc(60)
    queue:send(bufs)
    lm.sleepMicros(200)
  end
end

function receive(queue, n, both)
  local bufs, got, ordered = memory.bufArray(), 0, true
  both:wait()
  while got < n and lm.running() do
    local rx = queue:recv(bufs)
    for i = 1, rx do
      local number = bufs[i]:getEthernetPacket().payload.uint32[0]
      ordered = ordered and number == got
      got = got + 1
    end
    bufs:free(rx)
  end
  return got, ordered
end
