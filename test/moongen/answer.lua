-- SPDX-License-Identifier: Apache-2.0
-- Sends each frame that device 0 receives back by it.

local device = require "device"
local memory = require "memory"
local mg = require "moongen"

function master()
  local dev = device.config{port = 0, rxQueues = 1, txQueues = 1}
  device.waitForLinks()
  mg.startTask("answer", dev:getRxQueue(0), dev:getTxQueue(0))
  mg.waitForTasks()
end

function answer(rx, tx)
  local bufs = memory.bufArray()
  print("begins")
  io.stdout:flush()
  while mg.running() do
    local n = rx:tryRecv(bufs, 10000)
    tx:sendN(bufs, n)
  end
end
