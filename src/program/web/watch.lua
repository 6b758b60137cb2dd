-- SPDX-License-Identifier: Apache-2.0
-- Looks at the instances once a second, by their counters in shared memory, so that a
-- page which is opened later has their last ten minutes.

local C = require("core.native")
local client = require("lib.control.client")
local failure = require("core.failure")
local health = require("program.web.health")
local history = require("program.web.history")
local instances = require("lib.observe.instances")
local live = require("program.web.live")
local sample = require("lib.observe.sample")

local watch = {}

local SECONDS = 1
local MOST = 32 -- instances that are watched

--- A watch over the instance called `only`, or over all.
function watch.new(only)
  return {only = only, due = 0, history = history.new()}
end

local function wanted(self)
  local list = instances.list()
  if self.only then
    local ok, instance = pcall(instances.find, list, self.only)
    return ok and {instance} or {}
  end
  local found = {}
  for _, instance in ipairs(list) do
    if not instance.leader and #found < MOST then found[#found + 1] = instance end
  end
  return found
end

local function look_at(self, instance)
  local ok, d, figures = pcall(live.advance, instance)
  if not ok then
    if not failure.is(d) then error(d, 0) end
  elseif d then
    self.history:of(instance.pid):add(os.time(), d, figures)
  end
end

--- Look at all, if a second has gone.
function watch.step(self)
  local now = C.pg_monotonic()
  if now < self.due then return end
  self.due = now + SECONDS
  local pids = {}
  for _, instance in ipairs(wanted(self)) do
    pids[instance.pid] = true
    look_at(self, instance)
  end
  live.keep(pids)
  self.history:keep(pids)
end

--- The instance's history (program.web.history).
function watch.history(self, instance) return self.history:of(instance.pid) end

--- The instances for the page, without those that work for others: a list of {pid,
--- name, program, control = has it a control socket?, health = "good", "warning" or
--- "bad", why =, pps, load, drops = a second}.
function watch.list()
  local list = {}
  for _, instance in ipairs(instances.list()) do
    if not instance.leader then
      local control = client.path(instance) ~= nil
      local d = live.last_difference(instance.pid)
      local word, why = health.of(instance, d, control)
      list[#list + 1] = {pid = instance.pid, name = instance.name,
        program = instance.program, control = control, health = word, why = why,
        pps = d and d.engine.pps, load = d and d.engine.load,
        drops = d and sample.dropped(d)}
    end
  end
  return list
end

return watch
