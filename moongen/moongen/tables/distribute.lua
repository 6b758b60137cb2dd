-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `distribute`: packets to several queues, by a number in each one's
-- routing entry (moongen.tables.lpm). Each output gathers packets, and sends when it
-- has enough of them, or when the first has waited too long.

local clock = require("moongen.clock")
local failure = require("core.failure")
local memory = require("moongen.memory.memory")

local M = {}

local MOST_OUTPUTS = 256 -- their number is a byte of the entry

local Distributor = {}
Distributor.__index = Distributor
M.mg_distribute = Distributor

--- A distributor to up to `outputs` queues, by the byte at `entry_offset` (default 0)
--- of entries. `always_flush`: send at the end of each send(). (libmoon's first
--- argument, a NUMA node, doesn't matter here.)
function M.createDistributor(_, entry_offset, outputs, always_flush)
  if not outputs or outputs < 1 or outputs > MOST_OUTPUTS then
    failure.usage("a distributor has 1 to %d outputs, not %s", MOST_OUTPUTS,
      tostring(outputs))
  end
  return setmetatable({entry_offset = entry_offset or 0, n = outputs, outputs = {},
    always_flush = always_flush}, Distributor)
end

--- Output `number` (from 0 on) is the queue. It sends when it has `size` packets, or
--- when the first has waited for `timeout` seconds (see handleTimeouts).
function Distributor:registerOutput(number, queue, size, timeout)
  if number % 1 ~= 0 or number < 0 or number >= self.n then
    failure.usage("the distributor's outputs are 0 to %d, not %s", self.n - 1,
      tostring(number))
  end
  self.outputs[number] = {queue = queue, bufs = memory.bufArray(size), count = 0,
    timeout = timeout, since = 0}
end

local function flush(output)
  local count = output.count
  output.count = 0
  if count > 0 then output.queue:sendN(output.bufs, count) end
end

local function add(output, packet)
  if output.count == 0 then output.since = clock.seconds() end
  output.bufs.array[output.count] = packet
  output.count = output.count + 1
  if output.count == output.bufs.size then flush(output) end
end

--- Give each packet of the array that the mask has to the output that its entry
--- (entries of lpm's allocateEntryPtrs) names. They are the script's no more.
function Distributor:send(packets, mask, entries)
  for i = 1, packets.size do
    if mask[i] then
      local number = entries:bytes(i, self.entry_offset, 1)[0]
      local output = self.outputs[number]
      if not output then
        failure.usage("no queue is registered for the distributor's output %d", number)
      end
      add(output, packets.array[i - 1])
    end
  end
  if self.always_flush then
    for _, output in pairs(self.outputs) do flush(output) end
  end
  return 0
end

--- Send what has waited for longer than its output's timeout.
function Distributor:handleTimeouts()
  local now = clock.seconds()
  for _, output in pairs(self.outputs) do
    if output.count > 0 and now - output.since >= output.timeout then flush(output) end
  end
end

return M
