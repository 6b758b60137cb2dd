-- SPDX-License-Identifier: Apache-2.0
-- What core.watch.health has noted, for other processes: engine/jit/NAME.counter
-- in shared memory, and for each app and region whose packets LuaJIT doesn't move by
-- compiled code engine/jit/apps/NAME.counter and engine/jit/regions/NAME.counter.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local counter = require("core.counter")
local health = require("core.watch.health")
local shm = require("core.shm")
local this_engine = require("core.this_engine")

local publish = {}

-- The kinds of events, and what their sums are called.
local NAMES = {abort = "aborts", blacklisted = "blacklisted", stitch = "stitches",
               interpreter = "exits"}
local FOR_GOOD = {blacklisted = true, stitch = true}

local counters = {} -- by path
local seen = -1 -- health.changes when it was published last

local function set(path, value)
  counters[path] = counters[path] or counter.create(this_engine.path(path))
  counter.set(counters[path], value)
end

local function sums()
  local list = {traces = health.traces, flushes = health.flushes, problems = 0,
                aborts = 0, blacklisted = 0, stitches = 0, exits = 0}
  for _, event in ipairs(health.events()) do
    local name = NAMES[event.kind]
    list[name] = list[name] + event.count
  end
  return list
end

-- The problems of apps that run and regions, by the paths of their counters. As in
-- the engine's report only what is interpreted for good counts.
local function problems(apps)
  local found, total = {}, 0
  local function add(path, n) found[path] = (found[path] or 0) + n end
  for _, event in ipairs(health.problems()) do
    local count = FOR_GOOD[event.kind] and event.count or 0
    total = total + count
    if count > 0 and apps[event.app] then
      add(("engine/jit/apps/%s.counter"):format(shm.part(event.app)), count)
    end
    if count > 0 and event.region then
      local name = shm.part((event.region:gsub("^region of ", "")))
      add(("engine/jit/regions/%s.counter"):format(name), count)
    end
  end
  return found, total
end

local function withdraw(found)
  for path in pairs(counters) do
    if path:find("/jit/%a+/") and not found[path] then
      -- (After a fork it isn't ours any more.)
      pcall(counter.delete, this_engine.path(path))
      counters[path] = nil
    end
  end
end

--- Publish what has changed, for the running `apps`. Cheap when nothing has.
function publish.sync(apps)
  if seen == health.changes then return end
  seen = health.changes
  local totals = sums()
  local found, problem_count = problems(apps)
  totals.problems = problem_count
  for name, value in pairs(totals) do
    set(("engine/jit/%s.counter"):format(name), value)
  end
  for path, value in pairs(found) do set(path, value) end
  withdraw(found)
end

return publish
