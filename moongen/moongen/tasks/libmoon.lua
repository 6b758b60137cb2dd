-- SPDX-License-Identifier: Apache-2.0
-- What scripts know as `libmoon` (and `moongen`, `dpdk`): whether to go on, the time,
-- and tasks. All may be called with a dot or a colon.

local C = require("core.declare")("native/moongen.h")
local arguments = require("moongen.arguments")
local clock = require("moongen.clock")
local failure = require("core.failure")
local ends = require("moongen.tasks.ends")
local exits = require("moongen.tasks.exits")
local kernel = require("lib.hardware.numa_kernel")
local tasks = require("moongen.tasks.tasks")

local libmoon = {}

--- What a script may set or read: names, paths.
libmoon.config = {appName = "libmoon"}

-- The arguments without the module, if it was called with a colon.
local function plain(f)
  return function (first, ...)
    if type(first) == "table" and (first == libmoon or first.isLibmoon) then
      return f(...)
    end
    return f(first, ...)
  end
end

-- Going on ------------------------------------------------------------------------

--- False once a signal came, the runtime is over or stop() was called; `extra`
--- milliseconds (default 0) later than for who asks without.
function libmoon.running(extra, extra_behind_colon)
  if type(extra) == "table" then extra = extra_behind_colon end
  if extra ~= nil and type(extra) ~= "number" then
    arguments.refuse("running", 1, extra, "a number of milliseconds, or nil")
  end
  return C.mg_running(extra or 0) ~= 0
end

--- End in so many seconds. The time that tasks take to start isn't counted.
libmoon.setRuntime = plain(function (seconds)
  seconds = tonumber(seconds)
  if not seconds or seconds < 0 then
    failure.usage("setRuntime takes a number of seconds, not '%s'", tostring(seconds))
  end
  ends.set_runtime(seconds)
end)

--- Ask all tasks to end.
function libmoon.stop() ends.stop() end

-- Time ----------------------------------------------------------------------------

--- Cycles a second of the time stamp counter (a number).
libmoon.getCyclesFrequency = clock.hz

--- The time stamp counter (uint64_t).
function libmoon.getCycles() return clock.cycles() end

--- The same in seconds.
libmoon.getTime = clock.seconds

local function sleep(unit, precise)
  return plain(function (n)
    n = tonumber(n) or 0
    if n > 0 then C.mg_sleep(n * unit, precise) end
    exits.check()
  end)
end

--- Wait for so long, to the microsecond.
libmoon.sleepMillis = sleep(1e-3, 1)
libmoon.sleepMicros = sleep(1e-6, 1)

--- Sleep for about so long.
libmoon.sleepMillisIdle = sleep(1e-3, 0)
libmoon.sleepMicrosIdle = sleep(1e-6, 0)

-- Tasks ---------------------------------------------------------------------------

--- Start the global function of that name as a task: a thread with a Lua state of its
--- own, in which the script has run. Returns the task.
libmoon.startTask = plain(function (name, ...) return tasks.start("own", name, ...) end)

--- The same, for what does little: it shares a CPU with others.
libmoon.startSharedTask = plain(function (name, ...)
  return tasks.start("shared", name, ...)
end)

--- The same, on the CPU of that number.
libmoon.startTaskOnCore = plain(function (cpu, name, ...)
  return tasks.start(cpu, name, ...)
end)

--- Wait until all tasks have ended.
function libmoon.waitForTasks() tasks.wait_for_all() end

--- The number of the CPU this runs on, and of its socket.
function libmoon.getCore()
  local cpu = kernel.current_cpu()
  return cpu, math.max(C.pg_numa_of_cpu(cpu), 0)
end

--- The numbers of the CPUs that this process may use, a list.
function libmoon.getCores() return tasks.cpus() end

--- Sockets aren't warned of.
function libmoon.disableBadSocketWarning() end

--- Paths are set before the script runs.
function libmoon.setupPaths() end

-- Names of 2015 and 2016.
libmoon.launchLua = libmoon.startTask
libmoon.launchLuaOnCore = libmoon.startTaskOnCore
libmoon.waitForSlaves = libmoon.waitForTasks

libmoon.isLibmoon = true

return libmoon
