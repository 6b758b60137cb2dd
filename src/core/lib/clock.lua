-- SPDX-License-Identifier: Apache-2.0
-- The monotonic clock. It is read on the engine's fast path, so it is one FFI call
-- into a buffer allocated once, and nothing else.

local ffi = require("ffi")
local C = ffi.C

-- Under a name of its own: ljsyscall declares it too, with another type.
ffi.cdef 'int perigee_clock_gettime(int, void *) __asm__("clock_gettime");'

local CLOCK_MONOTONIC = 1 -- <linux/time.h>
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

return clock
