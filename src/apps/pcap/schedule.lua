-- SPDX-License-Identifier: Apache-2.0
-- When a replayed packet is due: each kind of schedule is a function that gets a
-- packet's length in bytes and its recorded time in nanoseconds (int64), and returns
-- how many seconds after the packet before it is due; 0 for the first.

local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")

local int64_t = ffi.typeof("int64_t[1]")

local M = {}

--- The bits that a frame of so many bytes (without its frame check) takes on an
--- Ethernet wire, with the gap behind it.
M.wire_bits = ethernet.bits

--- `rate` packets a second.
function M.packet_rate(rate)
  local gap = 0
  return function()
    local before = gap
    gap = 1 / rate
    return before
  end
end

--- `rate` bits a second, on the wire.
function M.bit_rate(rate)
  local before = 0
  return function(length)
    local gap = before / rate
    before = M.wire_bits(length)
    return gap
  end
end

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
