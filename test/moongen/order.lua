-- SPDX-License-Identifier: Apache-2.0
-- Tasks, one a queue, ask at once for what device 0 receives, which is sorted by its
-- hash. The packets are numbered 0 to PACKETS - 1, over and over, and are of FLOWS
-- flows in turn. Prints how many came to each queue, how often one came after its
-- successor in its flow; and how many were missed since all tasks were there, as nobody
-- asked the queue for so long: then the numbers tell nothing.

local barrier = require "barrier"
local device = require "device"
local ffi = require "ffi"
local lm = require "libmoon"
local memory = require "memory"

local NUMBER = 42 -- offset of the number behind UDP's header
local FLOWS = 16
local BEFORE = 2 ^ 14 -- more than wait for a queue
local WINDOW = 64 -- packets of a flow: one further back is of the next time round

function master(queues, packets, seconds)
  queues = tonumber(queues)
  local dev = device.config{port = 0, rxQueues = queues, rssQueues = queues}
  local tasks, all = {}, barrier:new(queues)
  for i = 0, queues - 1 do
    tasks[i] = lm.startTask("check", dev:getRxQueue(i), tonumber(packets),
      tonumber(seconds), all)
  end
  for i = 0, queues - 1 do print("queue", i, tasks[i]:wait()) end
end

function check(queue, packets, seconds, all)
  local bufs, came, late, expected = memory.bufArray(64), 0, 0, {}
  all:wait()
  for _ = 1, BEFORE / 64 do bufs:free(queue:tryRecv(bufs, 1000)) end
  local missed = queue.queue.soft.missed
  local ends = lm.getTime() + seconds
  while lm.running() and lm.getTime() < ends do
    local n = queue:tryRecv(bufs, 1000)
    for i = 1, n do
      local number = ffi.cast("uint32_t *", bufs[i]:getBytes() + NUMBER)[0]
      local flow = number % FLOWS
      local back = ((expected[flow] or number) - number) % packets
      if back > 0 and back <= WINDOW * FLOWS then
        late = late + 1 -- some that follow it have been here
      else
        expected[flow] = (number + FLOWS) % packets
      end
    end
    came = came + n
    bufs:free(n)
  end
  return came, late, tonumber(queue.queue.soft.missed - missed)
end
