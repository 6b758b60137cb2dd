-- SPDX-License-Identifier: Apache-2.0
-- The engine: runs the graph of apps that engine.configure() was given, breath
-- by breath. A breath pulls packets in and pushes them through. Programs know
-- this module as the global `engine`; its fields are Snabb's.

local C = require("core.native")
local account = require("core.engine.account")
local apply = require("core.engine.apply")
local placement = require("core.cpus.placement")
local blocked = require("core.engine.blocked")
local breath_calls = require("core.engine.calls")
local config = require("core.config")
local counter = require("core.counter")
local cores = require("core.cpus.workers")
local culprit = require("core.watch.loops")
local cycles = require("core.watch.cycles")
local drops = require("core.fuse.drops")
local failure = require("core.failure")
local fuse = require("core.fuse.fused")
local here = require("core.this_engine")
local histogram = require("core.histogram")
local jit_health = require("core.watch.health")
local jit_publish = require("core.watch.publish")
local link = require("core.link")
local main_options = require("core.engine.main_options")
local measure = require("core.cpus.measure")
local move = require("core.engine.breath")
local names = require("core.engine.names")
local order = require("core.engine.order")
local pace = require("core.engine.pace")
local plan = require("core.engine.plan")
local pool = require("core.pool")
local reports = require("core.engine.summary")
local signals = require("core.engine.signals")
local timer = require("core.timer")
local warm = require("core.engine.warm")

local engine = {}

--- Never sleep between breaths.
engine.busywait = false
--- Breaths per second, or false: sleep by load.
engine.Hz = false
--- Calls of tick() per second; 0 for none.
engine.tick_Hz = 1000
--- The longest sleep of an idle engine, and the current one, in microseconds.
engine.maxsleep = 100
engine.sleep = 0
--- Packets an app should pull in a breath.
engine.pull_npackets = math.floor(link.max / 10)
--- Fuse per-packet apps into loops without links; false to run each by itself.
engine.fuse = true
--- Run new fused loops on made-up full bursts first (core.engine.warm).
engine.warm = false
--- Sample breaths, to tell where the cycles go (core.watch.cycles).
engine.count_cycles = true
--- Print what configure() does.
engine.log = false
--- Name of the app in which the last error was raised, if it is known.
engine.failing = nil
--- Name of the signal that ended engine.main, or false.
engine.interrupted = false

--- Exit status of a selftest() that can't run here.
engine.test_skipped_code = 43

--- The running apps by name, links by text, and their configuration.
engine.app_table = {}
engine.link_table = {}
engine.configuration = config.new()

local state = {
  apps = engine.app_table, links = engine.link_table,
  configuration = engine.configuration, claims = {}, lost = 0,
}

local counters = {}
for _, name in ipairs{"breaths", "frees", "freebits", "freebytes", "configs"} do
  counters[name] = counter.create(here.path("engine/" .. name .. ".counter"), 0)
  engine[name] = counters[name]
end

local pulls, pushes = {n = 0}, {n = 0, push = {}, app = {}, link = {}}
local ticks = {}
local fused = fuse.none()
link.settle = function (l) fused:settle(l) end
local TEND_SECONDS = 0.01
local TIMER_SECONDS = 0.0005 -- half a tick of core.timer

-- The configuration ------------------------------------------------------

-- List the calls of a breath for the apps and links there are now.
local function arrange()
  fused = fuse.plan(state.apps, state.links, engine.fuse, fused)
  jit_health.rearranged()
  if engine.warm then warm.regions(fused.regions) end
  engine.regions = fused.regions
  engine.not_fused = fused.reasons
  pulls, pushes = order.breath(state.apps, state.links, fused)
  fused:hand_over(state.apps, state.links, pushes.specs)
  cycles.arrange(pulls, pushes, fused)
  ticks = {}
  for _, name in ipairs(config.sorted_keys(state.apps)) do
    if state.apps[name].tick then ticks[#ticks + 1] = state.apps[name] end
  end
end

local function change(new, forced)
  fused:account() -- the links' cursors, before anything looks at them
  local actions = plan.make(state.configuration, new, state.apps, forced)
  local ok, err = pcall(apply.plan, state, new, actions)
  arrange() -- in any case: a failed change may have started apps again
  if ok and fused.problem then ok, err = false, fused.problem end
  if not ok then error(err, 0) end
  if engine.log then io.write(plan.text(actions)) end
end

-- The whole graph: what is placed on CPUs, on workers (core.cpus.workers).
local function change_all(new, forced)
  if placement.ready(new) then new = placement.place(new) end
  if not cores.concern(new) then
    change(new, forced)
    engine.configuration, state.known = state.configuration, nil
    return
  end
  local known = plan.check(new, state.known)
  cores.configure(new, function (part) change(part, forced) end)
  engine.configuration, state.known = new, known
end

-- A configuration is applied between breaths: within one, apps hold packets and
-- links, and regions are at work.
local at_work = false -- in a breath
local changing = false -- applying a configuration
local waiting, waiting_forced -- for the end of the breath: a configuration

local function apply_now(new, forced)
  local running = next(state.links) ~= nil
  waiting, changing = nil, true
  local ok, err = xpcall(blocked.measure, failure.explain, state.apps, running,
    function () change_all(new, forced) end)
  changing = false
  if not ok then error(err, 0) end
  counter.add(counters.configs)
end

local function apply_waiting()
  apply_now(waiting, waiting_forced)
end

-- engine.configure; `forced` as for plan.make.
local function configure(new, forced)
  if changing then
    failure.raise("engine.configure was called while a configuration is being "
      .. "applied, in an app's new(), link() or the like; call it in push() or tick()")
  end
  new = config.copy(new)
  if not at_work then return apply_now(new, forced) end
  plan.check(new, state.known)
  waiting, waiting_forced = new, forced
end

--- Make the running graph that of `new` (core.config). Everything is checked
--- first; when something is wrong a failure says what, and the running graph
--- stays as it was. Within a breath, in methods of apps, it is checked at once
--- and applied at the end of the breath (the last one, if there are several).
function engine.configure(new) configure(new) end

--- The same; the apps named in `forced` are restarted or reconfigured ("restart",
--- "reconfig") though their arguments may be as before.
function engine.configure_anew(new, forced) configure(new, forced) end

--- Stop every app and remove every link.
function engine.stop()
  engine.configure(config.new())
end

--- The calls of a breath, in order (core.engine.calls).
function engine.calls()
  return breath_calls.list(pulls, pushes, state.links, fused)
end

-- A breath ---------------------------------------------------------------

local breath_time = 0 -- when the last breath began
local breathing = false -- in a breath, or anywhere in the main loop

--- Seconds on the monotonic clock; while the engine runs, when the present
--- breath began.
function engine.now()
  return breathing and breath_time or C.pg_now()
end

local function tick_all(apps)
  for i = 1, #apps do apps[i]:tick() end
end
culprit.watch(tick_all, 1, 2)

local breaths = 0
local sample_at = math.huge -- the next breath to look into
local last_tick, next_tending, next_duty = 0, 0, 0
local all_dead = false -- all workers, and there is nothing to do here

-- Bring all counters up to date and publish them (core.shm).
local function sync(now)
  fused:account()
  drops.publish(state.apps)
  for _, l in pairs(state.links) do link.sync(l) end
  counter.set(counters.breaths, breaths + cores.breaths())
  if here.worker then here.worker.breaths = breaths end
  account.sync(counters)
  jit_publish.sync(state.apps)
  cycles.sync(breaths, account.progress(), now)
  counter.commit()
end

-- What needn't happen in every breath.
local function housekeeping(now)
  local period = 1 / engine.tick_Hz -- infinite for 0: no ticks
  if now >= last_tick + period then
    last_tick = now
    tick_all(ticks)
  end
  if now >= next_tending then
    next_tending = now + TEND_SECONDS
    pool.tend()
    sync()
    if fused:drifted(now, breaths) then arrange() end
    all_dead = cores.tend()
  end
  next_duty = math.min(next_tending, last_tick + period)
end

-- One breath that begins at `now`.
local function breath(now)
  breath_time, breathing, at_work = now, true, true
  if breaths >= sample_at then
    sample_at = cycles.breath(pulls, pushes, breaths)
  else
    move.pull(pulls)
    move.push(pushes)
  end
  breaths = breaths + 1
  if now >= next_duty then housekeeping(now) end
  at_work = false
  if waiting then apply_waiting() end
end

jit_health.attach(breath, {[housekeeping] = true, [apply_waiting] = true})

-- A region runs with one burst at a time.
local function check_idle(what)
  if at_work then failure.raise("%s was called by an app, within a breath", what) end
end

-- For xpcall: the error, after a region has been put in order again.
local function rescue(err)
  engine.failing = culprit.name()
  return fused:rescue(err)
end

--- One breath: pull(), then push(), then what is due.
function engine.breathe()
  check_idle("engine.breathe")
  local running = breathing
  local ok, err = xpcall(breath, rescue, C.pg_now())
  breathing, at_work = running, false
  if not ok then error(err, 0) end
  cores.breathe()
end

-- The main loop ----------------------------------------------------------

local SIGNALS = {[1] = "SIGHUP", [2] = "SIGINT", [15] = "SIGTERM"}
local latency

--- The histogram of breath durations in seconds (engine/latency.histogram).
function engine.enable_latency_histogram()
  if not latency then
    latency = histogram.create(here.path("engine/latency.histogram"), 1e-6, 1e0)
  end
  return latency
end

-- Breathe until `done` says so or a signal comes. The clock is read once a
-- breath: one ends where the next begins, unless the engine slept between.
local function run(options)
  local done, on_signal = options.done, options.on_signal
  local now = C.pg_now()
  local ends = options.duration and now + options.duration or math.huge
  local durations = options.measure_latency ~= false
    and engine.enable_latency_histogram()
  local next_timers = options.no_timers and math.huge or now
  repeat
    local began = now
    breath(began)
    if began >= next_timers then
      next_timers = began + TIMER_SECONDS
      timer.run()
    end
    now = C.pg_now()
    if durations then durations:add(now - began) end
    if pace.breath(engine, began) then now = C.pg_now() end
    if on_signal then signals.answer(on_signal) end
    if done and done() then return end
  until began >= ends or all_dead or (C.pg_signal() ~= 0 and not here.worker)
  if C.pg_signal() ~= 0 and not here.worker then
    engine.interrupted = SIGNALS[C.pg_signal()] or "a signal"
  end
end

-- With --cpus a graph may first have to be measured, and is then placed.
local function run_placed(options)
  if not placement.concerns(engine.configuration) then return run(options) end
  local rest = measure.run(options, run)
  if not rest then return end
  sync(true)
  placement.weigh(measure.weights(cycles.totals(), engine.regions, state.apps))
  measure.drain(pushes, state.links)
  configure(engine.configuration)
  cores.run(engine)
  run(rest)
end

--- Run until `duration` seconds have passed, `done()` returns true, or SIGINT
--- or SIGTERM comes (a program that calls again after a signal is ended).
--- Then print a report: `report` = {showload=, showlinks=, showapps=,
--- showpackets=} selects its parts, `no_report` leaves it out.
--- `measure_latency` = false and `no_timers` leave these out. `on_signal` = {HUP = f,
--- USR1 = f, USR2 = f}: f() is called between breaths when that signal has come.
function engine.main(options)
  options = options or {}
  check_idle("engine.main")
  main_options.check(options)
  if engine.interrupted then require("core.main").exit(0) end
  signals.take(options.on_signal, true)
  C.pg_catch_signals()
  if next(state.links) then pool.create() end -- not within the first breath
  engine.load_begins()
  sample_at = cycles.start(engine.count_cycles, breaths, account.progress())
  cores.run(engine)
  local ok, err = xpcall(run_placed, function (e) return failure.explain(rescue(e)) end,
    options)
  breathing, at_work, sample_at = false, false, math.huge
  signals.take(options.on_signal, false)
  cores.pause()
  sync(true)
  if not options.no_report then engine.report(options.report) end
  if not ok then error(err, 0) end
  cores.raise_failure()
end

reports.attach(engine, {
  counters = counters, sync = sync, account = function () fused:account() end,
})
names.attach(engine)

return engine
