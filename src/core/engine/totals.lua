-- SPDX-License-Identifier: Apache-2.0
-- What a run has done, to be reported (core.engine.report): of this state, and summed
-- over the workers.

local C = require("core.native")
local account = require("core.engine.account")
local counter = require("core.counter")
local cycles_report = require("core.watch.cycles_report")
local drops = require("core.fuse.drops")
local errors = require("core.engine.errors")
local link = require("core.link")
local mode = require("core.check.mode")

local held = mode.on and require("core.check.held")

local totals = {}

-- The load -------------------------------------------------------------------------

local start -- a snapshot

local function snapshot(counters)
  cycles_report.begin()
  account.sync(counters)
  return {
    time = C.pg_monotonic(), cpu = C.pg_cpu_seconds(),
    breaths = tonumber(counter.read(counters.breaths)),
    packets = tonumber(counter.read(counters.frees)),
    bytes = tonumber(counter.read(counters.freebytes)),
    bits = tonumber(counter.read(counters.freebits)),
    sleeps = tonumber(counter.read(counters.sleeps)),
    wakeups = tonumber(counter.read(counters.wakeups)),
  }
end

--- The load is measured from now on. `counters` are the engine's.
function totals.begin(counters)
  start = snapshot(counters)
end

--- What was done since the beginning, or the last call: {time, cpu (both in seconds),
--- breaths, packets, bytes, bits (on the wire), sleeps, wakeups, cycles = where they
--- went, as core.watch.cycles_report.since() tells}.
function totals.load(counters)
  if not start then totals.begin(counters) end
  local cycles, before = cycles_report.since(), start
  start = snapshot(counters)
  local load = {cycles = cycles}
  for key, value in pairs(start) do load[key] = value - before[key] end
  return load
end

-- Apps and packets -----------------------------------------------------------------

--- What is counted for the app: `counters`, those it has in shared memory, and `drops`,
--- both {[NAME] = number}.
function totals.app(app)
  local counters = {}
  for name, spec in pairs(app.shm and app.shm.specs or {}) do
    if spec[1] == counter and name ~= "dtime" then
      counters[name] = counter.read(app.shm[name])
    end
  end
  return {counters = counters, drops = drops.of(app)}
end

-- The packets that apps of this state hold, counted one by one: {count =, lines = who
-- holds them}; nil without --check.
local function held_here()
  if not held then return nil end
  return {count = held.count(), lines = held.lines()}
end

--- Where every packet went: core.engine.account.packets with what workers have told
--- (core.cpus.workers.report); `workers`, whether there are any; `in_drivers`, what is
--- left for drivers of ports to have; and with --check `counted`, the packets that apps
--- hold as far as they can be counted one by one, and `holders`, a list of lines.
function totals.packets(links, told)
  local a = account.packets(links, told.in_links)
  a.workers = account.has_others()
  a.in_drivers = account.in_drivers(a)
  local all = told.held
  if held and all then
    local here = held_here()
    a.counted, a.holders = here.count, here.lines
    for _, there in ipairs(all) do
      a.counted = a.counted + there.count
      for _, line in ipairs(there.lines) do table.insert(a.holders, line) end
    end
  end
  return a
end

--- What a worker's `engine` tells the main thread: {links = {[SPEC] = totals}, in_links
--- =, held = with --check {count =, lines =} of packets that apps hold, seconds = of
--- CPU time, cycles = where they went since it began to run, drops and errors = of the
--- app of the name `asked`, if that is given}.
function totals.of_worker(engine, asked)
  engine.sync()
  local result = {links = link.all_stats(engine.link_table), in_links = 0,
                  seconds = C.pg_thread_cpu_seconds(), cycles = cycles_report.since()}
  for _, l in pairs(engine.link_table) do
    result.in_links = result.in_links + link.nreadable(l)
  end
  result.held = held_here()
  if asked then result.drops, result.errors = engine.drops(asked), errors.of(asked) end
  return result
end

-- The engine's fields --------------------------------------------------------------

--- Give `engine` what is asked for its totals. `inner` has its counters; sync() and
--- account(), which bring counters and cursors up to date; and workers
--- (core.cpus.workers).
function totals.attach(engine, inner)
  local workers = inner.workers

  engine.sync = inner.sync

  --- Measure the load from now on.
  function engine.load_begins() totals.begin(inner.counters) end

  --- What each link has carried, {[SPEC] = {rxpackets =, txpackets =, rxbytes =,
  --- txbytes =, txdrop =}}, links of and between workers too.
  function engine.link_totals()
    engine.sync()
    return workers.totals(engine.link_table)
  end

  --- Have all the files that apps read ended (an app with ends() and ended(), such as
  --- a port), and is no packet in links, here or on other CPUs? For `done` of
  --- engine.main.
  function engine.finished() return workers.finished(engine) end

  --- Packets that the app `name` has dropped, as of now: {[REASON] = packets}.
  --- Counted are those of apps with process(p) and process_burst(), also in shared
  --- memory: apps/NAME/drop_REASON.counter.
  function engine.drops(name)
    inner.account()
    if workers.has(name) then return workers.of_app(name).drops end
    return drops.named(engine.app_table, name)
  end

  --- What the app `name` has raised while packets flowed, where the program went on
  --- (core.on_error): {raised = errors, restarts =, bypassed = packets, causes = a list
  --- of {text =, count =}}; nil if nothing. Also in shared memory:
  --- apps/NAME/errors_raised.counter, errors_restarts and errors_bypassed.
  function engine.errors(name)
    if workers.has(name) then return workers.of_app(name).errors end
    drops.named(engine.app_table, name) -- is there such an app?
    return errors.of(name)
  end
end

return totals
