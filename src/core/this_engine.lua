-- SPDX-License-Identifier: Apache-2.0
-- Which engine of the process this Lua state runs: that of the main thread, or a
-- worker's. A worker says so before any module with state of the engine is loaded.

local this_engine = {}

local worker, cpu

--- This is the engine of the worker (struct worker).
function this_engine.become(handle)
  worker, cpu = handle, handle.cpu
end

--- The worker (struct worker), or nil in the main thread.
function this_engine.worker() return worker end

--- The number that the worker was given as its CPU, or nil.
function this_engine.cpu() return cpu end

--- Let the main thread read how many breaths there were.
function this_engine.count_breaths(n)
  if worker then worker.breaths = n end
end

--- The name in shared memory of an object that every engine has: "engine/..." for
--- the main thread's, "workers/2/engine/..." for that of CPU 2.
function this_engine.path(name)
  return cpu and ("workers/%d/%s"):format(cpu, name) or name
end

return this_engine
