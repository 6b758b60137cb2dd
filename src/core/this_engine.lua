-- SPDX-License-Identifier: Apache-2.0
-- Which engine of the process this Lua state runs: that of the main thread, or a
-- worker's. To be set before any module that has state of the engine is loaded.

local here = {}

--- The worker (struct worker), or nil in the main thread.
here.worker = nil

--- The number that the worker was given as its CPU, or nil.
here.cpu = nil

--- The name in shared memory of an object that every engine has: "engine/..." for
--- the main thread's, "workers/2/engine/..." for that of CPU 2.
function here.path(name)
  return here.cpu and ("workers/%d/%s"):format(here.cpu, name) or name
end

return here
