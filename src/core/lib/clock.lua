-- SPDX-License-Identifier: Apache-2.0
-- Clocks, for code that waits and for times in files. The engine itself asks
-- pg_monotonic and pg_now (native/dpdk/clock.c).

local ffi = require("ffi")
local C = ffi.C

-- Under a name of its own: ljsyscall declares it too, with another type.
ffi.cdef 'int perigee_clock_gettime(int, void *) __asm__("clock_gettime");'

local CLOCK_REALTIME, CLOCK_MONOTONIC = 0, 1 -- <linux/time.h>
local timespec = ffi.new("struct { int64_t sec, nsec; }[1]")

local clock = {}

--- Seconds (a number) since an arbitrary fixed point; never goes back.
function clock.seconds()
  C.perigee_clock_gettime(CLOCK_MONOTONIC, timespec)
  return tonumber(timespec[0].sec) + tonumber(timespec[0].nsec) * 1e-9
end

--- Nanoseconds (a number, exact below 2^53 ns = 104 days) of the same clock.
function clock.nanoseconds()
  C.perigee_clock_gettime(CLOCK_MONOTONIC, timespec)
  return tonumber(timespec[0].sec) * 1e9 + tonumber(timespec[0].nsec)
end

--- Nanoseconds since 1970 (UTC), an int64_t.
function clock.unix_nanoseconds()
  C.perigee_clock_gettime(CLOCK_REALTIME, timespec)
  return timespec[0].sec * 1000000000LL + timespec[0].nsec
end

--- Seconds since 1970 (UTC), whole ones, as a number: for `dtime` counters.
function clock.unix_seconds()
  return tonumber(clock.unix_nanoseconds() / 1000000000LL)
end

return clock
