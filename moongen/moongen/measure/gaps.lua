-- SPDX-License-Identifier: Apache-2.0
-- Times between packets by the CPU's time stamp counter, as MoonGen of 2014 had them:
-- timestamping.readTimestampsSoftware(queue).

local clock = require("moongen.clock")
local ffi = require("ffi")
local libmoon = require("moongen.tasks.libmoon")
local log = require("moongen.log")
local memory = require("memory")

local GAPS = 4096 -- whatever size a script asks for
local WAIT_MS = 10

-- Note the gaps of `n` packets that came by one burst: all but the first are 0.
local function note(gaps, count, n, gap)
  local last = math.min(count + n, GAPS)
  for i = count, last - 1 do gaps[i] = i == count and gap or 0 end
  return last
end

--- The gaps in front of the next 4,096 packets of the queue, in cycles modulo 2^32: a
--- uint32_t array from 0, the first gap 0. They are printed, too, a line each. It ends
--- before if the script is to end; what is missing is 0, and isn't printed.
return function (queue)
  if type(queue) ~= "table" or not queue.tryRecv then
    log:fatal("readTimestampsSoftware takes a receive queue")
  end
  local gaps, bufs = ffi.new("uint32_t[?]", GAPS), memory.bufArray()
  local count, before = 0, nil
  while count < GAPS and libmoon.running() do
    local n = queue:tryRecv(bufs, WAIT_MS * 1000)
    if n > 0 then
      local now = clock.cycles()
      local gap = before and tonumber((now - before) % 2 ^ 32) or 0
      count, before = note(gaps, count, n, gap), now
      bufs:free(n)
    end
  end
  for i = 0, count - 1 do print(gaps[i]) end
  return gaps
end
