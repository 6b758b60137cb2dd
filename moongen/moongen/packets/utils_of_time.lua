-- SPDX-License-Identifier: Apache-2.0
-- libmoon's functions of time and rates that scripts know as globals.

local C = require("core.native")
local clock = require("moongen.clock")
local wall = require("core.lib.clock")

local utils = {}

--- Seconds since 1970, and microseconds.
function utils.gettimeofday()
  local micros = math.floor(tonumber(wall.unix_nanoseconds()) / 1000)
  return math.floor(micros / 1000000), micros % 1000000
end

--- Seconds since 1970, with a fraction.
utils.time, utils.wallTime = clock.unix, clock.unix

--- Seconds of a clock that is never set, with a fraction.
function utils.getMonotonicTime() return (tonumber(C.pg_monotonic())) end

--- Microseconds between two values with tv_sec and tv_usec.
function utils.timevalSpan(later, earlier)
  return (later.tv_sec - earlier.tv_sec) * 1000000 + (later.tv_usec - earlier.tv_usec)
end

--- The time of day (UTC) as hh:mm:ss.uuuuuu.
function utils.getTimeMicros()
  return require("moongen.packets.dump").time(utils.time())
end

local OVERHEAD = 24 -- bytes on the wire around a packet: CRC, preamble, gap

--- The wait in byte times before the next packet of a Poisson process, where it is
--- `average` on average.
function utils.poissonDelay(average)
  return math.floor(-math.log(1 - math.random()) * average + 0.5)
end

--- The gap in byte times at 10 Gbit/s behind a packet of `size` bytes (60) for `rate`
--- million packets a second.
function utils.rateToByteDelay(rate, size)
  return 10^10 / 8 / (rate * 10^6) - (size or 60) - OVERHEAD
end

--- The gap in byte times for packets of `size` bytes (60) that begin `time` nanoseconds
--- apart on a link of `rate` Mbit/s (10000).
function utils.timeToByteDelay(time, rate, size)
  return time * 1.25 * ((rate or 10000) / 10^4) - (size or 60) - OVERHEAD
end

return utils
