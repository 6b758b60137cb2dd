-- SPDX-License-Identifier: Apache-2.0
-- The CPU time of a router's thread, for its handlers `load` and `useful_kcycles`.

local C = require("core.native")
local time = require("posix.time")

local cpu_time = {}

local KILO = 1000

-- Seconds that this thread had a CPU.
local function used()
  local t = time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)
  return t.tv_sec + t.tv_nsec / 1e9
end

--- The router begins to run.
function cpu_time.begin(router)
  router.cpu_began = used()
  router.load_read = {C.pg_now(), router.cpu_began}
end

--- The part of the time, from 0 to 1, that the thread had a CPU since this was called
--- last, or since the router began.
function cpu_time.load(router)
  local now, cpu = C.pg_now(), used()
  local before = router.load_read or {now, cpu}
  router.load_read = {now, cpu}
  local seconds = now - before[1]
  return seconds > 0 and math.min(1, (cpu - before[2]) / seconds) or 0
end

--- Thousands of cycles that the thread had a CPU since the router began.
function cpu_time.kilocycles(router)
  return math.floor((used() - (router.cpu_began or used()))
    * tonumber(C.pg_tsc_hz()) / KILO)
end

return cpu_time
