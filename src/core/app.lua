-- SPDX-License-Identifier: Apache-2.0
-- The engine as programs know it, the global `engine`: configure() makes a graph of
-- apps run, main() lets it breathe. What it does is in core/engine (this thread's
-- graph) and core/cpus (workers); doc/engine.md says in which order to read. Names
-- are Snabb's.

local C = require("core.native")
local balancer = require("core.cpus.balancer")
local blocked = require("core.engine.blocked")
local breath = require("core.engine.breath")
local config = require("core.config")
local deploy = require("core.cpus.deploy")
local failure = require("core.failure")
local graph = require("core.engine.graph")
local histogram = require("core.histogram")
local log = require("core.lib.log")
local main_options = require("core.engine.main_options")
local meanwhile = require("core.lib.meanwhile")
local measure = require("core.cpus.measure")
local mode = require("core.check.mode")
local names = require("core.engine.names")
local pace = require("core.engine.pace")
local on_error = require("core.on_error")
local outside = require("core.outside.visitors")
local placement = require("core.cpus.placement")
local plan = require("core.engine.plan")
local pool = require("core.pool")
local recover = require("core.engine.recover")
local report = require("core.engine.report")
local results = require("core.engine.results")
local settings = require("core.engine.settings")
local signals = require("core.engine.signals")
local standby = require("core.outside.standby")
local this_engine = require("core.this_engine")
local timer = require("core.timer")
local totals = require("core.engine.totals")
local engine_counters = require("core.engine.counters")
local workers = require("core.cpus.workers")

local as_raised = failure.as_raised
local engine = settings

--- The running apps by name, links by text, and their configuration. (Not those that
--- run on other CPUs.)
engine.app_table, engine.link_table = graph.apps, graph.links
engine.configuration = graph.configuration()

for name, counter in pairs(engine_counters.counters) do engine[name] = counter end
engine_counters.include(workers.breaths)
breath.tend_with(workers.tend)
balancer.attach(workers, deploy.between)

local instead = {} -- see engine.intercept

-- The configuration ------------------------------------------------------

local known -- what is known of the apps of a graph with workers (plan.check)

-- The whole graph: what is placed on CPUs, on workers.
local function change_all(new, forced, before)
  if placement.ready(new) then new = placement.place(new) end
  if not workers.concern(new) then
    graph.change(new, forced, before)
    engine.configuration, known = graph.configuration(), nil
    return
  end
  local checked = plan.check(new, known or graph.known())
  standby.pass() -- before any worker opens what the other process has
  if before then before() end
  local problem = deploy.configure(new, {
    prepare = graph.prepare, abandon = graph.abandon, running = graph.configuration,
    change = function (part) graph.change(part, forced) end})
  engine.configuration, known = new, checked
  if problem then error(problem, 0) end
end

-- A configuration is applied between breaths: within one, apps hold packets and
-- links, and regions are at work.
local at_work = false -- in a breath
local changing = false -- applying a configuration
local waiting, waiting_forced -- for the end of the breath: a configuration

local function apply_now(new, forced, before)
  local running = next(graph.links) ~= nil or workers.has_links() and "elsewhere"
  waiting, changing = nil, true
  local watched = C.pg_watch(false) -- it may take its time
  local ok, err = xpcall(blocked.measure, failure.explain, graph.apps, running,
    function () change_all(new, forced, before) end, workers.missed)
  C.pg_watch(watched)
  changing = false
  if not ok then error(as_raised(err), 0) end
  engine_counters.count_configuration()
end

local function configure(new, forced, before)
  on_error.check("engine.on_error", settings.on_error)
  if standby.waits() and next(new.apps)
    and standby.look(plan.check, new, known or graph.known()) then
    return meanwhile.call(standby.pause, apply_now, new, forced)
  end
  if changing and not at_work then
    failure.raise("engine.configure was called while a configuration is being "
      .. "applied, in an app's new(), link() or the like; call it in push() or tick()")
  end
  new = config.copy(new)
  if not at_work then return apply_now(new, forced, before) end
  plan.check(new, known or graph.known())
  waiting, waiting_forced = new, forced
  breath.end_row()
end

--- Make the running graph that of `new` (core.config). Everything is checked
--- first; when something is wrong a failure says what, and the running graph
--- stays as it was. Within a breath, in methods of apps, it is checked at once
--- and applied at the end of the breath (the last one, if there are several).
function engine.configure(new)
  if instead.configure then return instead.configure(new, configure) end
  configure(new)
end

local breathe_in_change -- defined below

--- The same, but packets go on being moved while the change is prepared: only the
--- exchange itself lets them wait, before which before() is called, if it is given.
--- Apps see breaths before this returns. To be called between breaths.
function engine.configure_meanwhile(new, before)
  if at_work or instead.configure then return engine.configure(new) end
  meanwhile.call(breathe_in_change, configure, new, nil, before)
end

--- The same as engine.configure; the apps named in `forced` are restarted or
--- reconfigured ("restart", "reconfig") though their arguments may be as before.
function engine.configure_anew(new, forced) configure(new, forced) end

--- Stop every app and remove every link.
function engine.stop() configure(config.new()) end

--- The calls of a breath, in order (core.engine.order).
engine.calls = graph.list_calls

-- A breath ---------------------------------------------------------------

local breathing = false -- in a breath, or anywhere in the main loop

--- Seconds on the monotonic clock; while the engine runs, when the present
--- breath began.
function engine.now()
  return breathing and breath.time() or C.pg_now()
end

-- Raises what was found of packets that were freed before (core.check.packets).
local find_late = mode.on and require("core.check.packets").raise_late

local function take_breath(now, single)
  breathing, at_work = true, true
  local n = breath.take(now, single or find_late)
  at_work = false
  if waiting and not changing then apply_now(waiting, waiting_forced) end
  if now >= recover.next_start then recover.start_again() end
  if find_late then find_late() end
  return n
end

-- After an error in a breath: true if the engine goes on; else false and what to raise.
local function survive(err)
  at_work = false
  local ok, why = recover.from(graph.name_call(err))
  if not (ok and waiting) or changing then return ok, why end
  return xpcall(apply_now, failure.explain, waiting, waiting_forced)
end

-- A breath of this thread's graph.
local function breathe_once()
  local running = breathing
  local ok, err = xpcall(take_breath, graph.rescue, C.pg_now(), true)
  if not ok then ok, err = survive(err) end
  breathing = running
  engine_counters.refresh() -- for those who look at them between breaths
  if not ok then error(as_raised(err), 0) end
end

function breathe_in_change() blocked.but_for(breathe_once) end

-- A region runs with one burst at a time.
local function check_idle(what)
  if at_work then failure.raise("%s was called by an app, within a breath", what) end
end

--- One breath: pull(), then push(), then what is due.
function engine.breathe()
  check_idle("engine.breathe")
  if changing then breathe_in_change() else breathe_once() end
  workers.breathe()
end

-- The main loop ----------------------------------------------------------

local SIGNALS = {[1] = "SIGHUP", [2] = "SIGINT", [15] = "SIGTERM"}
local TIMER_SECONDS = 0.0005 -- half a tick of core.timer
local latency

--- The histogram of breaths' durations in seconds, of those in a row the mean.
function engine.enable_latency_histogram()
  if not latency then
    local path = this_engine.path("engine/latency.histogram")
    local ok, shared = pcall(histogram.create, path, 1e-6, 1e0)
    if not ok and not shared.no_room then error(shared, 0) end
    latency = ok and shared or histogram.new(1e-6, 1e0)
  end
  return latency
end

-- Signals are the main thread's.
local function interrupted() return C.pg_signal() ~= 0 and not this_engine.worker() end

-- Breathe until `done` says so, the clock says `ends`, or a signal comes. It is read
-- once a breath or row of them: one ends where the next begins, but for sleep.
local function loop(options, ends, durations)
  local done, on_signal, now = options.done, options.on_signal, C.pg_now()
  local next_timers = options.no_timers and math.huge or now
  local limits = {ends = ends, timers = not options.no_timers,
    asked = options.ask_within or not done and math.huge or nil}
  repeat
    local began, over = now, nil
    local n = take_breath(now, done and not options.in_rows or engine.Hz)
    if began >= next_timers then
      next_timers = began + TIMER_SECONDS
      timer.run()
    end
    now = C.pg_now()
    if durations then durations:add_many((now - began) / n, n) end
    if pace.breath(engine, began, limits) then now = C.pg_now() end
    if on_signal then signals.answer(on_signal) end
    if done then over, limits.again = done() end
  until over or began >= ends or breath.all_dead() or interrupted()
end

-- The same, and again after errors that the engine goes on after.
local function run(options)
  local ends = options.duration and C.pg_now() + options.duration or math.huge
  local durations = options.measure_latency ~= false
    and engine.enable_latency_histogram()
  C.pg_watch(true)
  local ok, err
  repeat
    ok, err = xpcall(loop, graph.rescue_explained, options, ends, durations)
    if not ok then
      local goes_on, why = survive(err)
      if not goes_on then error(why, 0) end
    end
  until ok or interrupted()
  C.pg_watch(false)
  if interrupted() then engine.interrupted = SIGNALS[C.pg_signal()] or "a signal" end
end

-- With --cpus a graph may first have to be measured, and is then placed.
local function run_placed(options)
  if not placement.concerns(engine.configuration) then return run(options) end
  local rest = measure.run(options, run)
  if not rest then return end
  breath.sync(true)
  placement.weigh(measure.weights(graph.apps, engine.regions))
  blocked.first_cut(meanwhile.call, breathe_in_change, configure, engine.configuration)
  workers.run(engine)
  run(rest)
end

-- A signal has ended the run: what is on its way gets to its end.
local function run_out()
  outside.stopping()
  C.pg_watch(true)
  if settings.drain > 0 then deploy.run_out(settings.drain) end
  outside.ran_out()
end

local function main(options)
  check_idle("engine.main")
  main_options.check(options)
  on_error.check("engine.on_error", settings.on_error)
  if engine.interrupted then require("core.main").exit(0) end
  signals.take(options.on_signal, true)
  C.pg_catch_signals()
  if not this_engine.worker() then C.pg_watchdog(settings.watchdog or 0) end
  if next(graph.links) then pool.create() end -- not within the first breath
  engine.load_begins()
  pace.begin()
  breath.begin()
  outside.begin()
  workers.run(engine)
  if not this_engine.worker() then results.begin(graph.links) end
  local ok, err = xpcall(run_placed, graph.rescue_explained, options)
  if not ok then err = graph.name_call(err) end
  C.pg_watch(false)
  breathing, at_work = false, false
  breath.pause()
  signals.take(options.on_signal, false)
  workers.pause()
  if ok and interrupted() then ok, err = xpcall(run_out, graph.rescue_explained) end
  C.pg_watch(false)
  results.pause()
  breath.sync(true)
  local reported, problem = true, nil
  if not options.no_report then
    reported, problem = xpcall(engine.report, failure.explain, options.report)
  end
  C.pg_release_signals()
  if not ok and not reported then
    log.error("%s", tostring(problem))
  end
  if not ok then error(as_raised(err), 0) end
  workers.raise_failure()
  if not reported then error(problem, 0) end
end

--- Run until `duration` seconds have passed, `done()` returns true, or SIGINT
--- or SIGTERM comes (a program that calls again after a signal is ended).
--- Then print a report: `report` = {showload=, showlinks=, showapps=,
--- showpackets=} selects its parts, `no_report` leaves it out.
--- done() is asked after each breath. While no packet comes these are up to 0.2
--- seconds apart, but no more than an 8th of the time since the last one (from 0.01
--- seconds on), or `ask_within` seconds. Where done() returns false and a time (on the
--- clock of engine.now()), it is asked then, and as always when something comes. With
--- `in_rows` it may be asked after some breaths, of up to 3 us together.
--- `measure_latency` = false and `no_timers` leave these out. `on_signal` = {HUP = f,
--- USR1 = f, USR2 = f}: f() is called between breaths when that signal has come.
function engine.main(options)
  options = options or {}
  if instead.main then return instead.main(options, main) end
  main(options)
end

--- Let main(options, run) be called in the place of engine.main, and configure(new, go)
--- in that of engine.configure, where the table `others` has them; run(options) and
--- go(new) do what the engine would have done, and are returned, too; and what breathes
--- in the midst of a change. For programs that run programs (perigee plan).
function engine.intercept(others)
  instead = others
  return main, configure, breathe_in_change
end

local inner = {
  counters = engine_counters.counters, sync = breath.sync, account = graph.account,
  workers = workers, balance = balancer.lines,
  idle = function () return not at_work end,
}
totals.attach(engine, inner)
report.attach(engine, inner)
names.attach(engine)

return main_options.guard(engine)
