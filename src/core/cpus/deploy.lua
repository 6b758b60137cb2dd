-- SPDX-License-Identifier: Apache-2.0
-- A configuration over several CPUs: each worker is told its part. What can be found
-- wrong is found first; then those whose parts change stand still, what is on its way
-- goes on to where it's safe, and all are switched.

local C = require("core.native")
local drain = require("core.engine.drain")
local eal = require("core.eal")
local failure = require("core.failure")
local parts = require("core.cpus.parts")
local partition = require("core.cpus.partition")
local rings = require("core.cpus.rings")
local workers = require("core.cpus.workers")

local deploy = {}

local MAIN = partition.MAIN
local DRAIN_SECONDS = 2 -- at most, before apps move
local DRAIN_TRIES = 3 -- in a row that empty nothing further: an app keeps it

-- Places whose parts differ; the main thread's part comes last.
local function changed(new)
  local before, list = workers.parts(), {}
  for place in pairs(new) do
    if place ~= MAIN and not partition.same(before[place], new[place]) then
      list[#list + 1] = place
    end
  end
  for place in pairs(before) do
    if place ~= MAIN and not new[place] then list[#list + 1] = place end
  end
  table.sort(list)
  return list
end

-- The apps that are in another part than before, a set of names.
local function movers(new)
  local set = {}
  for place, before in pairs(workers.parts()) do
    for name in pairs(before.apps) do
      for other, p in pairs(new) do
        set[name] = set[name] or other ~= place and p.apps[name] ~= nil or nil
      end
    end
  end
  return set
end

-- They have to be stopped where they are before they start elsewhere.
local function let_go(moving, change_main)
  for place, before in pairs(workers.parts()) do
    local rest = partition.without_movers(before, moving)
    if rest and place == MAIN then
      change_main(parts.configuration(rest))
    elseif rest then
      workers.configure(place, rest)
    end
  end
end

local EMPTY = {apps = {}, links = {}, remote = {}}

-- Put back what ran before `err` was raised, as far as that can be, and stop new apps
-- that were ready. Raises `err`, with what couldn't be put back.
local function put_back(err, list, main)
  local before, problems = workers.parts(), {}
  local function try(f, ...)
    local ok, problem = pcall(f, ...)
    if not ok then problems[#problems + 1] = tostring(problem) end
  end
  for _, cpu in ipairs(list) do
    if workers.by_cpu[cpu] and before[cpu] then
      try(workers.configure, cpu, before[cpu])
      try(workers.ask, cpu, {what = "abandon"})
    elseif workers.by_cpu[cpu] then
      try(workers.retire, cpu)
    end
  end
  try(main.change, parts.configuration(before[MAIN] or EMPTY))
  main.abandon()
  if not problems[1] then error(err, 0) end
  failure.raise("%s; and not all of what ran before could be put back: %s",
    tostring(err), table.concat(problems, "; "))
end

local crossings = {} -- of the present parts

-- Everything that can be found wrong before anything changes: what can't be sent to
-- another Lua state, new apps that don't start, and apps that move and couldn't start
-- again now. The latter aren't touched.
local function prepare(new, list, moving, main)
  for _, cpu in ipairs(list) do
    local worker = workers.by_cpu[cpu]
    if new[cpu] or worker and not worker.dead then
      local message = parts.message(new[cpu] or EMPTY)
      if not worker then workers.start(cpu) end
      workers.ask(cpu, {what = "prepare", part = message, except = moving})
    end
  end
  main.prepare(parts.configuration(new[MAIN] or EMPTY), moving)
end

local function abandon(list, main)
  local before = workers.parts()
  main.abandon()
  for _, cpu in ipairs(list) do
    if workers.by_cpu[cpu] and before[cpu] then
      pcall(workers.ask, cpu, {what = "abandon"})
    elseif workers.by_cpu[cpu] then
      workers.retire(cpu)
    end
  end
end

-- Let the engines of these CPUs, and this one, pass on what is in their links and in
-- the rings between them. Best effort: an app may keep what it has.
local function drain_all(list, goes, seconds)
  local ends = C.pg_monotonic() + seconds
  local least, tries = math.huge, 0
  repeat
    local waiting = drain.here()
    for _, cpu in ipairs(list) do
      if workers.by_cpu[cpu] and not workers.by_cpu[cpu].dead then
        local answer = workers.ask(cpu, {what = "drain"})
        waiting = waiting + (answer and answer.waiting or 0)
      end
    end
    waiting = waiting + rings.waiting(goes)
    tries = waiting < least and 0 or tries + 1
    least = math.min(least, waiting)
  until waiting == 0 or tries == DRAIN_TRIES or C.pg_monotonic() >= ends
end

-- Tell each worker of its part.
local function distribute(new, list, moving, main)
  let_go(moving, main.change)
  for _, cpu in ipairs(list) do
    workers.configure(cpu, new[cpu] or EMPTY)
  end
  main.change(parts.configuration(new[MAIN] or EMPTY))
end

-- Let the engines of these CPUs stand still, or go on, as the others do.
local function pause_some(list)
  for _, cpu in ipairs(list) do
    if workers.by_cpu[cpu] then workers.ask(cpu, {what = "pause"}) end
  end
end

local function go_on(list)
  drain.release()
  for _, cpu in ipairs(list) do
    if workers.by_cpu[cpu] then
      local answer = workers.ask(cpu, {what = "release"})
      if answer and workers.running() then workers.tell_run(cpu) end
    end
  end
end

-- Let those whose parts change stand still, with nothing on its way that would be lost.
local function halt(list, moving, new_crossings)
  pause_some(list)
  if next(moving) then
    drain_all(list, function (key) return not new_crossings[key] end, DRAIN_SECONDS)
  end
end

-- Replace the parts, all of which can be had; as they were if it fails all the same:
-- an app may raise something as it passes on what is on its way.
local function switch(new, list, new_crossings, main)
  local moving = movers(new)
  local ok, err = pcall(halt, list, moving, new_crossings)
  if ok then
    ok, err = pcall(distribute, new, list, moving, main)
    if not ok then err = select(2, pcall(put_back, err, list, main)) end
  else
    abandon(list, main)
  end
  go_on(list)
  if not ok then error(err, 0) end
end

--- Let what is in links and rings run out, for `seconds` at most, while nothing is
--- received. No engine runs.
function deploy.run_out(seconds)
  local places = workers.places()
  local ok, err = pcall(drain_all, places, function () return true end, seconds)
  drain.release()
  for _, cpu in ipairs(places) do workers.ask(cpu, {what = "release"}) end
  if not ok then error(err, 0) end
end

--- Make the running graph that of `new`, which has been checked. Each worker whose part
--- changes is told; `main` is the engine of this thread: prepare(part, except),
--- abandon(), change(part) and running(), as core.engine.graph has them. Workers whose
--- part stays as it is go on meanwhile; no packet is lost by moving apps. When it
--- fails, it raises why, and the parts are as before: untouched, if a new app doesn't
--- start.
function deploy.configure(new, main)
  local new_parts, new_crossings = partition.of(new)
  if #workers.places() == 0 then -- what runs is all in the main thread
    workers.installed((partition.of(main.running())), {})
  end
  local list = changed(new_parts)
  eal.start()
  rings.make(new_crossings)
  local ok, err = pcall(prepare, new_parts, list, movers(new_parts), main)
  if not ok then
    abandon(list, main)
  else
    ok, err = pcall(switch, new_parts, list, new_crossings, main)
  end
  if not ok then
    rings.keep(crossings)
    error(err, 0)
  end
  crossings = new_crossings
  workers.installed(new_parts, new.restart or {})
  for _, cpu in ipairs(workers.places()) do
    if not new_parts[cpu] then workers.retire(cpu) end
  end
  rings.keep(crossings)
end

return deploy
