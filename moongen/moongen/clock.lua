-- SPDX-License-Identifier: Apache-2.0
-- The time as scripts see it: seconds of the CPU's time stamp counter.

local C = require("core.declare")("native/moongen.h")
local wall = require("core.lib.clock")

local clock = {}

local hz

--- Cycles a second of the time stamp counter (a number).
function clock.hz()
  hz = hz or C.pg_tsc_hz_measured()
  return hz
end

--- The counter (a uint64_t).
clock.cycles = C.pg_tsc

--- Seconds (a number) since the counter began.
function clock.seconds() return tonumber(C.pg_tsc()) / clock.hz() end

--- Seconds since 1970, with a fraction.
function clock.unix() return tonumber(wall.unix_nanoseconds()) / 1e9 end

--- Sleep for so many seconds, or until a signal comes.
function clock.sleep(seconds)
  if seconds > 0 then C.mg_sleep(seconds, 0) end
end

return clock
