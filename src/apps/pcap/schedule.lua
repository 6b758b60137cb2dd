-- SPDX-License-Identifier: Apache-2.0
-- When a replayed packet is due: each kind of schedule is a function that gets a
-- packet's length in bytes and its recorded time in nanoseconds (int64), and returns
-- how many seconds after the packet before it is due; 0 for the first.

local arrivals = require("lib.traffic.arrivals")
local ffi = require("ffi")

local int64_t = ffi.typeof("int64_t[1]")

local M = {}

local function evenly(rate)
  local even, before = arrivals.new(rate), 0
  return function(length)
    local gap = before
    before = arrivals.gap(even, length)
    return gap
  end
end

--- `rate` packets a second.
function M.packet_rate(rate) return evenly{packets = rate} end

--- `rate` bits a second, on the wire.
function M.bit_rate(rate) return evenly{bits = rate} end

--- As recorded, `factor` times as fast. Where the recorded time goes back (at the
--- file's start, the second time) or is unknown (0), a packet is due at once.
function M.recorded(factor)
  local last = int64_t() -- a variable would be garbage with each new time
  local seconds = 1e-9 / factor
  return function(_, time)
    local before = last[0]
    if time == 0 then
      return 0
    end
    last[0] = time
    return before > 0 and time > before and tonumber(time - before) * seconds or 0
  end
end

--- All at once.
function M.topspeed()
  return function() return 0 end
end

return M
