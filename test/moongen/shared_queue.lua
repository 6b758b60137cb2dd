-- SPDX-License-Identifier: Apache-2.0
-- Tasks use a queue: "both" in turn, or "each" one after the other.

local device = require "device"
local lm = require "libmoon"
local memory = require "memory"
local pipe = require "pipe"

function master(how)
  local dev = device.config{port = 0, txQueues = 2}
  local tx, rx = dev:getTxQueue(1), dev:getRxQueue(0)
  use(tx, rx)
  for _ = 1, 3 do
    lm.startTask("use", tx, rx):wait()
    use(tx, rx)
  end
  if how == "each" then return end
  local one, two = pipe:newSlowPipe(), pipe:newSlowPipe()
  lm.startTask("in_turn", tx, rx, one, two)
  lm.startTask("in_turn", tx, rx, two, one)
  one:send(true)
  lm.waitForTasks()
end

function use(tx, rx)
  local bufs = memory.createMemPool{n = 64}:bufArray(4)
  bufs:alloc(60)
  tx:send(bufs)
  bufs:free(rx:tryRecv(bufs, 0))
end

function in_turn(tx, rx, mine, other)
  for _ = 1, 4 do
    mine:recv()
    use(tx, rx)
    other:send(true)
  end
end
