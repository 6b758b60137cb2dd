-- SPDX-License-Identifier: Apache-2.0
-- The time of day, in microseconds.

local ffi = require("ffi")

-- Under names of their own: programs declare these, too.
ffi.cdef[[
struct moongen_timeval { long tv_sec; long tv_usec; };
int moongen_gettimeofday(struct moongen_timeval *, void *) __asm__("gettimeofday");
]]

local clock = {}

local timeval = ffi.new("struct moongen_timeval")

--- Seconds since 1970, and microseconds.
function clock.parts()
  ffi.C.moongen_gettimeofday(timeval, nil)
  return tonumber(timeval.tv_sec), tonumber(timeval.tv_usec)
end

--- Seconds since 1970, with a fraction.
function clock.now()
  local seconds, micros = clock.parts()
  return seconds + micros / 1e6
end

return clock
