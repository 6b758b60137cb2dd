-- SPDX-License-Identifier: Apache-2.0
-- A configuration over several CPUs: each worker gets its part. What can be found
-- wrong is found first; then those whose parts change stand still, what is on its way
-- goes on to where it's safe, and all are switched.

local C = require("core.native")
local blocked = require("core.engine.blocked")
local difference = require("core.engine.difference")
local drain = require("core.engine.drain")
local eal = require("core.eal")
local failure = require("core.failure")
local graph = require("core.engine.graph")
local lib = require("core.lib")
local meanwhile = require("core.lib.meanwhile")
local parts = require("core.cpus.parts")
local partition = require("core.cpus.partition")
local rings = require("core.cpus.rings")
local transfer = require("core.move.transfer")
local workers = require("core.cpus.workers")

local deploy = {}

local MAIN = partition.MAIN
local DRAIN_SECONDS = 2 -- at most, before apps move
local CUT_ROUNDS = 1000 -- of pushes at most, before a graph of one thread is cut
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

-- Can an app of these two descriptions, before and after, move without being stopped
-- (core.move.transfer)?
local function moves_whole(before, after)
  return rawget(before.class, "take_over") ~= nil
    and difference.same_app(before, after)
end

-- The apps that are in another part than before, by name: "whole" if they needn't be
-- stopped for it, else true.
local function movers(new)
  local set = {}
  for place, before in pairs(workers.parts()) do
    for name, app in pairs(before.apps) do
      for other, p in pairs(new) do
        local after = other ~= place and p.apps[name]
        if after then set[name] = moves_whole(app, after) and "whole" or true end
      end
    end
  end
  return set
end

local EMPTY = {apps = {}, links = {}, remote = {}}

-- A change of parts, `self` of the following: `moving` are the apps that move; `given`,
-- what those were given that have left, and are nowhere yet; `at`, where they have
-- arrived; `counts`, the totals of links before.

-- Let the worker of the place, or the main thread, run the part. Those apps that move
-- leave that are in the part `from` (optional), which it has run.
local function run_part(self, place, part, from)
  local m = {leave = {}, come = {}, counts = self.counts}
  for name in pairs(from and from.apps or {}) do m.leave[name] = self.moving[name] end
  for name in pairs(part.apps) do m.come[name] = self.given[name] end
  local ok, err
  if place == MAIN then
    ok, err = pcall(transfer.during, m, self.main.change, parts.configuration(part))
  else
    ok, err = pcall(workers.configure, place, part, m)
    self.stood = math.max(self.stood or 0, m.stood or 0)
  end
  for name in pairs(m.come) do
    self.given[name] = nil
    self.at[name] = ok and place or nil
  end
  for name, data in pairs(m.given or {}) do
    self.given[name], self.at[name] = data, nil
  end
  if not ok then error(err, 0) end
end

-- They have to leave where they are before they arrive elsewhere.
local function let_go(self)
  for place, before in pairs(workers.parts()) do
    local rest = partition.without_movers(before, self.moving)
    if rest then run_part(self, place, rest, before) end
  end
end

-- Put back what ran before `err` was raised, as far as that can be, and stop new apps
-- that were ready. Raises `err`, with what couldn't be put back.
local function put_back(self, err, list)
  local before, problems, main = workers.parts(), {}, self.main
  local function try(f, ...)
    local ok, problem = pcall(f, ...)
    if not ok then problems[#problems + 1] = tostring(problem) end
  end
  local arrived = {}
  for _, place in pairs(self.at) do arrived[place] = true end
  for place in pairs(arrived) do
    local rest = partition.without_movers(self.new[place], self.moving)
    if rest then try(run_part, self, place, rest, self.new[place]) end
  end
  for _, cpu in ipairs(list) do
    if workers.by_cpu[cpu] and before[cpu] then
      try(run_part, self, cpu, before[cpu])
      try(workers.ask, cpu, {what = "abandon"})
    elseif workers.by_cpu[cpu] then
      try(workers.retire, cpu)
    end
  end
  try(run_part, self, MAIN, before[MAIN] or EMPTY)
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
  -- One after the other: copies that start look at what the others have kept.
  for _, cpu in ipairs(list) do
    local worker = workers.by_cpu[cpu]
    if new[cpu] or worker and not worker.dead then
      local asked = {what = "prepare", part = parts.message(new[cpu] or EMPTY),
                     except = moving}
      if not worker then workers.start(cpu) end
      workers.ask(cpu, asked)
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

local function message(what)
  return function () return {what = what} end
end
local DRAIN, PAUSE, RELEASE = message("drain"), message("pause"), message("release")

-- Those of the CPUs whose workers haven't died.
local function living(list)
  local alive = {}
  for _, cpu in ipairs(list) do
    local worker = workers.by_cpu[cpu]
    if worker and not worker.dead then alive[#alive + 1] = cpu end
  end
  return alive
end

-- Let the engines of these CPUs, and this one, pass on what is in their links and in
-- the rings between them. Best effort: an app may keep what it has.
local function drain_all(list, goes, seconds)
  local ends = C.pg_monotonic() + seconds
  local least, tries = math.huge, 0
  repeat
    local waiting = drain.here()
    for _, answer in pairs(workers.ask_all(living(list), DRAIN)) do
      waiting = waiting + answer.waiting
    end
    waiting = waiting + rings.waiting(goes)
    tries = waiting < least and 0 or tries + 1
    least = math.min(least, waiting)
  until least == 0 or tries == DRAIN_TRIES or C.pg_monotonic() >= ends
  return least
end

-- Tell each worker of its part.
local function distribute(self, list)
  let_go(self)
  for _, cpu in ipairs(list) do run_part(self, cpu, self.new[cpu] or EMPTY) end
  run_part(self, MAIN, self.new[MAIN] or EMPTY)
end

-- Let the engines of these CPUs stand still, or go on, as the others do.
local function pause_some(list) workers.ask_all(list, PAUSE) end

local function go_on(list)
  drain.release()
  for cpu in pairs(workers.ask_all(list, RELEASE)) do
    if workers.running() then workers.tell_run(cpu) end
  end
end

-- Let those whose parts change stand still, with nothing on its way that would be lost.
local function halt(list, moving, new_crossings)
  pause_some(list)
  if not next(crossings) then drain.here(CUT_ROUNDS) end
  if next(moving) then
    drain_all(list, function (key) return not new_crossings[key] end, DRAIN_SECONDS)
  end
end

-- Replace the parts, all of which can be had; as they were if it fails all the same:
-- an app may raise something as it passes on what is on its way.
local function switch(new, list, new_crossings, main, moving)
  local ok, err = pcall(halt, list, moving, new_crossings)
  if ok then
    local change = {new = new, main = main, moving = moving, given = {}, at = {},
      counts = next(moving) and workers.totals(graph.links)}
    ok, err = pcall(distribute, change, list)
    if not ok then err = select(2, pcall(put_back, change, err, list)) end
  else
    abandon(list, main)
  end
  go_on(list)
  if not ok then error(err, 0) end
end

-- Each worker goes over to its new part by itself, between two breaths: no app moves to
-- another CPU, and what joins the parts stays as it is.
local function change_apart(new, list, main)
  local change = {new = new, main = main, moving = {}, given = {}, at = {}, stood = 0}
  local ok, err = pcall(function ()
    for _, cpu in ipairs(list) do run_part(change, cpu, new[cpu] or EMPTY) end
    run_part(change, MAIN, new[MAIN] or EMPTY)
  end)
  blocked.others_stood(change.stood)
  if not ok then err = select(2, pcall(put_back, change, err, list)) end
  for _, cpu in ipairs(workers.running() and list or {}) do workers.tell_run(cpu) end
  if not ok then error(err, 0) end
end

-- Nothing runs any more: whatever an app raises as it stops, all others stop, and the
-- workers end. Returns what was raised first, if anything was.
local function stop_all(main)
  local change = {main = main, moving = {}, given = {}, at = {}}
  local first
  local function try(f, ...)
    local ok, err = pcall(f, ...)
    if not ok and not first then first = err end
  end
  local places = workers.places()
  try(halt, places, {}, {})
  for _, cpu in ipairs(places) do try(run_part, change, cpu, EMPTY) end
  try(run_part, change, MAIN, EMPTY)
  crossings = {}
  workers.installed({}, {})
  for _, cpu in ipairs(places) do try(workers.retire, cpu) end
  rings.keep(crossings)
  return first
end

--- Let what is in links and rings run out, for `seconds` at most, while nothing is
--- received. No engine runs.
function deploy.run_out(seconds)
  local places = workers.places()
  local ok, err = pcall(drain_all, places, function () return true end, seconds)
  drain.release()
  workers.ask_all(places, RELEASE)
  if not ok then error(err, 0) end
end

--- Call f(...) while all workers stand still, and nothing is in their links and rings:
--- true. False, and f isn't called, if what was there didn't get on. The main thread
--- has no links.
function deploy.between(f, ...)
  local places = workers.places()
  pause_some(places)
  local ok, waiting = pcall(drain_all, places, function () return true end,
    DRAIN_SECONDS)
  local still = ok and waiting == 0
  if still then ok, waiting = pcall(f, ...) end
  go_on(places)
  if not ok then error(waiting, 0) end
  return still
end

--- Make the running graph that of `new`, which has been checked. Each worker whose part
--- changes is told; `main` is the engine of this thread: prepare(part, except),
--- abandon(), change(part) and running(), as core.engine.graph has them. Workers whose
--- part stays as it is go on meanwhile; no packet is lost by moving apps. While it is
--- prepared, so may the main thread (core.lib.meanwhile). When it
--- fails, it raises why, and the parts are as before: untouched, if a new app doesn't
--- start. Where `new` has no apps, all stop, and it returns what was raised, or nil.
function deploy.configure(new, main)
  if not next(new.apps) then return meanwhile.alone(stop_all, main) end
  local new_parts, new_crossings = partition.of(new)
  local alone = #workers.places() == 0 -- what runs is all in the main thread
  if alone then
    workers.installed((partition.of(main.running())), {})
  end
  local list = changed(new_parts)
  eal.start()
  rings.make(new_crossings)
  local moving = movers(new_parts)
  local ok, err = pcall(prepare, new_parts, list, moving, main)
  if not ok then
    abandon(list, main)
  elseif not (alone or next(moving)) and lib.equal(crossings, new_crossings) then
    ok, err = pcall(change_apart, new_parts, list, main)
  else
    ok, err = pcall(meanwhile.alone, blocked.elsewhere, switch, new_parts, list,
      new_crossings, main, moving)
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
