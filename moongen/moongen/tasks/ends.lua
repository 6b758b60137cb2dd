-- SPDX-License-Identifier: Apache-2.0
-- When scripts end: the times that all tasks share and mg_running() looks at
-- (native/lifecycle.c). setRuntime's clock and that of an examination stand while a
-- task starts.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
require("moongen.locks") -- methods of the lock

local ends = {}

local all = C.mg_shared()
local NEVER = ffi.cast("uint64_t", -1LL)
local MOST_CYCLES = 2 ^ 62

-- f(...) with the lock of what tasks share; one result.
local function locked(f)
  return function (...)
    all.lock:lock()
    local result = f(...)
    all.lock:unlock()
    return result
  end
end

local function set(clock, seconds)
  local now = C.pg_tsc()
  clock.stands_since = now
  clock["end"] = now + math.min(seconds * tonumber(C.pg_tsc_hz()), MOST_CYCLES)
end

local function go_on(clock)
  local now = C.pg_tsc()
  if clock["end"] ~= NEVER then
    clock["end"] = clock["end"] + (now - clock.stands_since)
  end
  clock.stands_since = now
end

--- End so many seconds from now, or, if tasks start meanwhile, so much later.
ends.set_runtime = locked(function (seconds) set(all.runtime, seconds) end)

--- A task is about to be started.
ends.task_starts = locked(function ()
  if all.starting == 0 then
    local now = C.pg_tsc()
    all.runtime.stands_since, all.examination.stands_since = now, now
  end
  all.starting = all.starting + 1
end)

local put_off = locked(function ()
  if all.starting == 1 then
    go_on(all.runtime)
    go_on(all.examination)
  end
end)

local count_off = locked(function ()
  all.starting = math.max(all.starting - 1, 0)
end)

--- Its function is about to be called, or never will be. (Others see the clocks' new
--- ends before it counts as started: each lock is a barrier.)
function ends.task_began()
  put_off()
  count_off()
end

local function stop()
  local now = C.pg_tsc()
  if all.stop_at > now then all.stop_at = now end
end

--- End now, unless that has been.
ends.stop = locked(stop)

--- A task calls os.exit: the main thread is to end the process with this status.
ends.want_exit = locked(function (status)
  if all.exit_status < 0 then all.exit_status = status end
  stop()
end)

--- The script is examined (perigee doctor) for so many seconds from when it begins with
--- what it does: its first task, or the first time it asks whether to go on.
ends.examine = locked(function (seconds) all.examined_for = seconds end)

--- That is now, unless it has been. Returns the seconds that are left.
ends.examination_begins = locked(function ()
  local clock = all.examination
  if all.examined_for <= 0 then return 0 end
  if clock["end"] == NEVER then set(clock, all.examined_for) end
  local now = all.starting > 0 and clock.stands_since or C.pg_tsc()
  return tonumber(ffi.cast("int64_t", clock["end"] - now)) / tonumber(C.pg_tsc_hz())
end)

-- Why the script can't go on ----------------------------------------------------------

--- The process is to end with this sentence, unless there is another already.
ends.fail = locked(function (why)
  if all.failure[0] ~= 0 then return end
  ffi.copy(all.failure, why:sub(1, ffi.sizeof(all.failure) - 1))
end)

--- The sentence, or nil.
function ends.failure()
  return all.failure[0] ~= 0 and ffi.string(all.failure) or nil
end

return ends
