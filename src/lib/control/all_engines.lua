-- SPDX-License-Identifier: Apache-2.0
-- A tap on every engine of the process: the main thread's and its workers', also those
-- that start later. What they report is collected here.

local local_taps = require("lib.control.local_taps")
local workers = require("core.cpus.workers")

local all_engines = {}

local last_id = 0
local open = {} -- by id

local Spread = {}
Spread.__index = Spread

local function call(cpu, name, argument)
  return workers.call(cpu, "lib.control.local_taps", name, argument)
end

-- Workers that have no such tap yet: it is attached there.
local function reach_workers(self)
  for cpu, worker in pairs(workers.by_cpu) do
    if self.reached[cpu] ~= worker and not worker:is_given_up() then
      self.reached[cpu] = worker
      call(cpu, "attach", self.request)
    end
  end
end

--- Attach a tap of that kind ("trace", "capture") everywhere; hear(told) is called with
--- lists of what the taps tell, and the number of the CPU (nil: the main thread's).
--- Raises what is wrong with the arguments.
function all_engines.attach(kind, arguments, hear)
  last_id = last_id + 1
  local self = setmetatable({id = last_id, hear = hear, reached = {},
    request = {id = last_id, kind = kind, arguments = arguments}}, Spread)
  local_taps.attach(self.request)
  open[self.id] = self
  local ok, err = pcall(reach_workers, self)
  if not ok then
    self:detach()
    error(err, 0)
  end
  return self
end

--- Now and then: there may be other workers.
function Spread:tend() pcall(reach_workers, self) end

--- Detach it everywhere. All has been heard when this returns.
function Spread:detach()
  local_taps.detach(self.id)
  for cpu, worker in pairs(workers.by_cpu) do
    if self.reached[cpu] == worker and not worker:is_given_up() then
      pcall(call, cpu, "detach", self.id)
    end
  end
  workers.listen()
  open[self.id] = nil
end

local function hear(id, message)
  if open[id] then open[id].hear(message.list, message.cpu) end
end

local_taps.hear(hear)
workers.hear_others(function (message) hear(message.id, message) end)

return all_engines
