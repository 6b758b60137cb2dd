-- SPDX-License-Identifier: Apache-2.0
-- What an instance does now, for the page: rates of links, drops and counters of apps,
-- cycles, from two samples of its shared memory (lib.observe.sample). All browsers and
-- the history (program.web.watch) share the samples.

local C = require("core.native")
local failure = require("core.failure")
local sample = require("lib.observe.sample")

local live = {}

local LEAST_SECONDS = 0.5 -- between two samples
local NEW_SECONDS = 1.5   -- for which figures are now's

local known = {} -- by process id: {now = a sample, figures =, difference =}

local figures_of

local function take(instance)
  local s = sample.take(instance)
  if not s then
    known[instance.pid] = nil
    failure.raise("process %d has ended", instance.pid)
  end
  return s
end

--- Take another sample of the instance, if the last one is half a second old: what
--- happened between them, as lib.observe.sample says it and as live.of does; nil if
--- there is nothing new. Raises a failure if the process has ended.
function live.advance(instance)
  local entry = known[instance.pid]
  if not entry then
    known[instance.pid] = {now = take(instance)}
    return nil
  end
  if C.pg_monotonic() - entry.now.time < LEAST_SECONDS then return nil end
  local before = entry.now
  entry.now = take(instance)
  entry.difference = sample.difference(before, entry.now)
  entry.figures = figures_of(entry.now, entry.difference)
  return entry.difference, entry.figures
end

--- What the last two samples differ by (lib.observe.sample); nil if that isn't known.
function live.last_difference(pid) return known[pid] and known[pid].difference end

--- Forget processes that aren't in the set `pids`.
function live.keep(pids)
  for pid in pairs(known) do
    if not pids[pid] then known[pid] = nil end
  end
end

local function links(d)
  local found = {}
  for _, l in ipairs(d.links) do
    found[l.name] = {pps = l.pps, bits = l.bits, packets = l.packets, drops = l.drops,
      dropped = l.dropped, waiting = l.waiting}
  end
  return found
end

-- Drops and counters of apps, by name.
local function apps(d)
  local found = {}
  local function app(name)
    found[name] = found[name] or {}
    return found[name]
  end
  local function add(name, what, item)
    local entry = app(name)
    entry[what] = entry[what] or {}
    table.insert(entry[what], item)
  end
  for _, a in ipairs(d.apps) do
    local entry = app(a.name)
    entry.pps, entry.interpreted = a.pps, a.interpreted
  end
  for _, drop in ipairs(d.drops) do
    if drop.owner then
      add(drop.owner, "drops",
        {reason = drop.reason, pps = drop.pps, packets = drop.packets})
    end
  end
  for _, counter in ipairs(d.others) do
    add(counter.owner, "counters",
      {name = counter.what, pps = counter.pps, value = counter.packets})
  end
  return found
end

-- Cycles by part and by task: {name =, cpu =, cycles = of a packet or nil, rate = a
-- second, app = the first app of the task}.
local function cycles(d)
  local list = {}
  for i, c in ipairs(d.cycles) do
    list[i] = {name = c.part or c.task, cpu = c.cpu, cycles = c.value, rate = c.pps,
      app = c.task and (c.task:match("^(.*)%+%d+$") or c.task)}
  end
  return list
end

-- A list that is empty would be an object in JSON.
local function list(t) return #t > 0 and t or nil end

function figures_of(now, d)
  return {time = now.time, seconds = d.seconds, uptime = d.uptime, engine = d.engine,
    links = links(d), apps = apps(d), cycles = list(cycles(d)), jit = d.jit,
    tsc_hz = tonumber(C.pg_tsc_hz())}
end

--- What the instance does now; lists that are empty are left out. Yields if it has to
--- wait for a second sample; raises a failure if the process has ended.
function live.of(instance)
  while true do
    local entry = known[instance.pid]
    if entry and entry.figures
        and C.pg_monotonic() - entry.now.time < NEW_SECONDS then
      return entry.figures
    end
    live.advance(instance)
    entry = known[instance.pid]
    if not entry.figures then coroutine.yield() end
  end
end

return live
