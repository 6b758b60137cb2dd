-- SPDX-License-Identifier: Apache-2.0
-- The totals of core.watch.cycles in shared memory, for other processes: counters of
-- TSC cycles since the start, under engine/cycles. Divide what one grew by, by what
-- packets.counter grew by meanwhile.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local C = require("core.native")
local counter = require("core.counter")
local this_engine = require("core.this_engine")

local publish = {}

local NAMES = {"receive", "send", "empty", "sleep", "engine", "breaths", "packets",
               "samples", "tsc"}
local MOST_TASKS = 64 -- a counter each, kept when they go; of more, only their sum
local RATIO_SECONDS = 1

local counters, by_task, made = nil, {}, 0
local next_ratio = 0
local ratio -- core cycles in a TSC cycle, as last measured

local function create(name)
  return counter.create(this_engine.path("engine/cycles/" .. name .. ".counter"), 0)
end

local function create_all()
  counters = {}
  for _, name in ipairs(NAMES) do counters[name] = create(name) end
  counters.tasks, counters.core_hz = create("tasks"), create("core_hz")
  counters.tsc_hz = create("tsc_hz")
  counter.set(counters.tsc_hz, C.pg_tsc_hz())
end

-- Names of files have no slash.
local function create_task(label)
  made = made + 1
  by_task[label] = create("tasks/" .. label:gsub("/", "_"))
  return by_task[label]
end

local function publish_tasks(tasks)
  local sum = 0
  for label, cycles in pairs(tasks) do
    sum = sum + cycles
    if by_task[label] or made < MOST_TASKS then
      counter.set(by_task[label] or create_task(label), cycles)
    end
  end
  counter.set(counters.tasks, sum)
end

--- Core cycles in a TSC cycle (C.pg_core_per_tsc), measured once a second at most: it
--- changes with load and heat.
function publish.core_per_tsc()
  local now = C.pg_monotonic()
  if now >= next_ratio then
    next_ratio, ratio = now + RATIO_SECONDS, C.pg_core_per_tsc()
  end
  return ratio
end

--- Set the counters to the totals.
function publish.all(totals)
  if totals.samples == 0 then return end
  if not counters then create_all() end
  for _, name in ipairs(NAMES) do counter.set(counters[name], totals[name]) end
  publish_tasks(totals.tasks)
  counter.set(counters.core_hz, publish.core_per_tsc() * tonumber(C.pg_tsc_hz()))
end

return publish
