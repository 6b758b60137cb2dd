-- SPDX-License-Identifier: Apache-2.0
-- Loses packets in the way that it is given, and prints what it sent and received.

local device = require "device"
local lm = require "libmoon"
local memory = require "memory"

local ways = {}

local function send(queue, n, size, kind)
  local mem = memory.createMemPool{n = n, bufSize = 12000, func = function (buf)
    buf:getEthernetPacket():fill{ethType = kind or 0x1234}
  end}
  local bufs = mem:bufArray(n)
  bufs:alloc(size)
  return queue:send(bufs)
end

-- 5 packets that are right, 3 that are too long, and 2 that are so but for a tag.
function ways.long(longest)
  local queue = device.config{port = 0, txQueues = 2}:getTxQueue(1)
  send(queue, 5, 60)
  send(queue, 3, longest + 1)
  send(queue, 2, longest + 4, 0x8100)
  local s = queue.dev:getStats()
  print("counted", tonumber(s.opackets), tonumber(s.oerrors))
end

-- The second of 4 is too long for what is sent without waiting.
function ways.try(longest)
  local queue = device.config{port = 0}:getTxQueue(0)
  local bufs = memory.createMemPool{bufSize = 12000}:bufArray(4)
  bufs:alloc(60)
  bufs[2]:setSize(longest + 1)
  print("counted", queue:trySend(bufs), tonumber(queue.dev:getStats().opackets))
end

-- N packets come to queue 0 of a device, of which only queue 1 is asked.
function ways.queue(n)
  local dev = device.config{port = 0, rxQueues = 2}
  dev:l2Filter(0x9999, dev:getRxQueue(1))
  local bufs = memory.bufArray()
  local s
  repeat
    dev:getRxQueue(1):tryRecv(bufs, 1000)
    s = dev:getStats()
  until s.ipackets + s.imissed == n or not lm.running()
  print("counted", tonumber(s.ipackets), tonumber(s.imissed), dev:getRxStats())
end

-- N packets wait in a ring at the end.
function ways.ring(n)
  local to = device.config{port = 1}
  to:getRxQueue(0):tryRecv(memory.bufArray(), 0)
  print("counted", send(device.config{port = 0}:getTxQueue(0), n, 60))
end

function master(way, ...) ways[way](...) end
