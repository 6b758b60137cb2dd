-- SPDX-License-Identifier: Apache-2.0
-- How this process is: for service managers, and for those who ask by HTTP.

local engine = require("core.app")
local workers = require("core.cpus.workers")

local state = {}

-- A worker's CPU of which the predicate is true.
local function cpu_where(is)
  for cpu, worker in pairs(workers.by_cpu) do
    if is(worker) then return cpu end
  end
end

--- Why no packets are to be sent here: a clause; or nil if all is well.
function state.not_ready()
  if not next(engine.configuration.apps) then return "no app runs" end
  local cpu = cpu_where(function (worker)
    return worker.dead or worker:is_given_up()
  end)
  if cpu then return ("the worker on CPU %d has stopped"):format(cpu) end
end

--- Why only a new start can help: a clause; or nil.
function state.ill()
  local cpu = cpu_where(function (worker) return worker:is_given_up() end)
  if cpu then return ("the worker on CPU %d doesn't return"):format(cpu) end
end

return state
