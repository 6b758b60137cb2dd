-- SPDX-License-Identifier: Apache-2.0
-- An examination of code that runs in tasks, threads with Lua states of their own, not
-- in an engine's apps. Who examines (`perigee doctor`) says here what is wanted; who
-- runs the tasks looks for that, and says what was found in each.

local jit_causes = require("core.watch.causes")

local examination = {}

--- What is wanted, or nil: {duration = seconds; warm_up = seconds (core.watch.health);
--- conclude() tells what was found and returns the exit status: to be called by who
--- ends the process otherwise than by main.exit}.
examination.wanted = nil

--- Seconds of the duration that were left when the tasks ended, set by who ran them.
examination.left = 0

local found = {}

--- What `health` (core.watch.health) has noted up to now: {traces, flushes, aborts,
--- on_path (of these), causes (core.watch.causes)}.
function examination.listened(health)
  local sum = {traces = health.traces, flushes = health.flushes, aborts = 0,
               on_path = 0, causes = jit_causes.of(health.problems())}
  for _, event in ipairs(health.events()) do
    if event.kind == "abort" then
      sum.aborts = sum.aborts + event.count
      if event.packet_path then sum.on_path = sum.on_path + event.count end
    end
  end
  return sum
end

--- What was found in the task `name`, as from examination.listened; nil if it doesn't
--- end, and so can't say.
function examination.add(name, listened)
  found[#found + 1] = {name = name, listened = listened}
end

-- Tasks that run the same function have the same causes.
local function merge_cause(all, by_key, cause, name)
  local key = ("%s:%d %s"):format(cause.file, cause.line, cause.reason)
  local known = by_key[key]
  if not known then
    known = {file = cause.file, line = cause.line, kind = cause.kind,
             reason = cause.reason, count = 0, apps = {}, tasks = {}, given_up = {},
             callers = {}}
    by_key[key], all[#all + 1] = known, known
  end
  known.count = known.count + cause.count
  jit_causes.add_once(known.tasks, name)
  for _, list in ipairs{"given_up", "callers"} do
    for _, place in ipairs(cause[list]) do jit_causes.add_once(known[list], place) end
  end
end

--- All that was found: {listened = as from examination.listened, where causes have
--- `tasks` = their names; unknown = names of the tasks that didn't say}. Nil if there
--- was no task.
function examination.found()
  if #found == 0 then return nil end
  local sum = {traces = 0, flushes = 0, aborts = 0, on_path = 0, causes = {}}
  local unknown, by_key = {}, {}
  for _, task in ipairs(found) do
    local listened = task.listened
    if not listened then jit_causes.add_once(unknown, task.name) end
    for name, n in pairs(listened or {}) do
      if name ~= "causes" then sum[name] = sum[name] + n end
    end
    for _, cause in ipairs(listened and listened.causes or {}) do
      merge_cause(sum.causes, by_key, cause, task.name)
    end
  end
  return {listened = sum, unknown = unknown}
end

return examination
