-- SPDX-License-Identifier: Apache-2.0
-- StaticThreadSched: a router in parts (click.threads.division), each of which runs on
-- the thread that it names. Thread 0 is the main thread, and has scripts, too, which
-- may read and write the handlers of all elements.

local C = require("core.native")
local affinity = require("core.cpus.affinity")
local click = require("apps.click.click")
local config = require("core.config")
local cpu_switches = require("click.threads.cpu_switches")
local control = require("program.click.control")
local control_sockets = require("program.click.control_sockets")
local division = require("click.threads.division")
local engine = require("core.app")
local failure = require("core.failure")
local handlers = require("click.router.handlers")
local joined = require("program.click.joined")
local placement = require("core.cpus.placement")
local rings = require("core.cpus.rings")
local workers = require("core.cpus.workers")

local threads = {}

local TIMER_SECONDS = 1e-4 -- timers of the routers are as exact as that

local OWN_ROUTER = {allow_reconfigure = "-R", simtime = "--simtime"}
local MOST_LINKS = 64 -- between a part and the others
local ASK_SECONDS, ASK_AGAIN_SECONDS, MOST_SECONDS = 0.05, 0.001, 0.5

local function in_all() return true end

local function is_given(value)
  return value and (type(value) ~= "table" or next(value) ~= nil)
end

-- The CPUs of threads from 0 on, and how many threads there may be.
local function cpus_of(o)
  local list = o.cpus or placement.wanted()
  if list then return list, #list end
  local first = type(o.affinity) == "number" and o.affinity or 0
  local there, cpus = affinity.cpus(), {}
  for i = 1, #there do cpus[i] = there[(first + i - 1) % #there + 1] end
  return cpus, o.threads or math.huge
end

-- Threads that there aren't become thread 0; does anything name another one?
local function settle_threads(router, most, reporter)
  local others = false
  for _, e in ipairs(router.elements) do
    if (e.home_thread or 0) >= most then
      reporter:warning("%s: StaticThreadSched wants thread %d, but there are %d; it "
        .. "runs on thread 0", e.name, e.home_thread, most)
      e.home_thread = 0
    end
    others = others or (e.home_thread or 0) ~= 0
  end
  return others
end

local function count_links(plan, flat)
  local n = {}
  division.crossings(flat, plan.of, function (from, _, to)
    n[from], n[to] = (n[from] or 0) + 1, (n[to] or 0) + 1
  end)
  for thread, count in pairs(n) do
    if count > MOST_LINKS then
      return ("%d connections lead to or from thread %d, more than %d"):format(count,
        thread, MOST_LINKS)
    end
  end
end

--- How the router (which isn't running) is to be divided: nil if it runs on one thread,
--- which the reporter is told if StaticThreadSched wants it otherwise.
function threads.plan(router, o, reporter)
  local cpus, most = cpus_of(o)
  if not settle_threads(router, most, reporter) then return nil end
  local of, numbers, notes, passing = division.of(router)
  local plan = {cpus = cpus, of = of, numbers = numbers, passing = passing,
    flat = cpu_switches.bypass(router.flat, of, passing)}
  local why = count_links(plan, plan.flat)
    or router.is_open and "a socket with LOCALHOST false needs one router"
  for field, option in pairs(OWN_ROUTER) do
    if is_given(o[field]) then why = ("%s needs one router"):format(option) end
  end
  if why then
    reporter:warning("StaticThreadSched has no effect: %s", why)
    return nil
  end
  for _, note in ipairs(notes) do reporter:warning("StaticThreadSched: %s", note) end
  if #plan.numbers == 1 and plan.numbers[1] == 0 then return nil end
  return plan
end

local function app_of(thread) return "click_" .. thread end

local function cpu_of(plan, thread) return plan.cpus[thread % #plan.cpus + 1] end

-- How many threads' parts run in one process with the thread's.
local function count_sharing(plan, thread)
  local n = 0
  for _, other in ipairs(plan.numbers) do
    if other > 0 and cpu_of(plan, other) == cpu_of(plan, thread) then n = n + 1 end
  end
  return thread > 0 and n or 1
end

local function configuration(plan, text, o)
  local c = config.new()
  for _, thread in ipairs(plan.numbers) do
    config.app(c, app_of(thread), click.Click, {text = text, variables = o.variables,
      devices = o.devices, more = control_sockets.elements(o),
      thread = {number = thread, of = plan.of, passing = plan.passing,
                sharing = count_sharing(plan, thread)}})
    if thread > 0 then config.cpu(c, app_of(thread), cpu_of(plan, thread)) end
  end
  division.crossings(plan.flat, plan.of, function (from, output, to, input)
    config.link(c, ("%s.output%d -> %s.input%d"):format(app_of(from), output,
      app_of(to), input))
  end)
  return c
end

-- Handlers -------------------------------------------------------------------------

local function ask(plan, thread, what, argument)
  argument.app = app_of(thread)
  if thread == 0 then return click[what](argument) end
  return workers.call(cpu_of(plan, thread), "apps.click.click", what, argument)
end

-- The handler `name` of an element of some thread, which knows what is wrong with it.
local function handler(plan, thread, element, name)
  local full = element .. "." .. name
  return {
    param = true,
    read = function (_, arguments)
      local answer = ask(plan, thread, "read", {handler = full .. " " .. arguments})
      return answer.text, answer.problem
    end,
    write = function (_, text)
      local answer = ask(plan, thread, "write", {handler = full, text = text})
      if not answer.ok then return answer.problem end
    end,
  }
end

-- What finds the elements of all threads (click.router.handlers); `whole`, which is
-- closed, has them all.
local function finder(plan, whole)
  return function (router, name, near)
    local e = whole:find(name, near)
    local thread = e and plan.of[e.name]
    if not thread then return e end -- it is in no part, and says what it is
    local function own(_, key)
      return handlers.find(whole, e, key) and handler(plan, thread, e.name, key) or nil
    end
    return handlers.stand_in(router, e, own)
  end
end

-- Running --------------------------------------------------------------------------

-- Are the files that the parts read at their end, and nothing is on its way any more?
-- To be called again and again: a part rests for longer than packets need from one
-- thread to another when it does so twice. Raises a failure if one is damaged there.
local function end_of_files(by_cpu, has_main)
  local before, here = false, has_main and {app_of(0)} or {}
  local function check()
    click.check_files(here)
    for cpu, names in pairs(by_cpu) do
      if not workers.is_dead(cpu) then
        workers.call(cpu, "apps.click.click", "check_files", names)
      end
    end
  end
  return function ()
    local all = click.progress(here)
    for cpu, names in pairs(by_cpu) do
      local states = workers.is_dead(cpu) and {}
        or workers.call(cpu, "apps.click.click", "progress", names)
      for state, n in pairs(states) do all[state] = (all[state] or 0) + n end
    end
    local over = all.over ~= nil
      and not (all.reading or all["passing on"] or all.starting)
    local sure = over and before
    before = over
    if sure then check() end
    return sure
  end
end

-- A function (n, now) for `n` more stops that other threads asked for: how many are
-- due, and whether others wait. A stop is due when what was sent before it has come: no
-- ring holds packets, so often that they have passed all `parts`; or after
-- MOST_SECONDS, for sources that go on fill the rings again.
local function heeded_stops(parts)
  local waiting, empty, since = 0, 0, 0
  return function (n, now)
    if n > 0 then
      if waiting == 0 then since = now end
      waiting, empty = waiting + n, 0
    end
    empty = rings.waiting(in_all) == 0 and empty + 1 or 0
    if empty <= parts and now - since < MOST_SECONDS then return 0, waiting > 0 end
    local due = waiting
    waiting = 0
    return due, false
  end
end

-- A function that tells whether the router has stopped. What asks for that on other
-- threads is told to thread 0, whose DriverManager may go on; if it has no element, the
-- first stop is the last.
local function watch(plan)
  local by_cpu, next_time, has_main = {}, 0, false
  for _, thread in ipairs(plan.numbers) do
    if thread > 0 then
      local cpu = cpu_of(plan, thread)
      by_cpu[cpu] = by_cpu[cpu] or {}
      table.insert(by_cpu[cpu], app_of(thread))
    else
      has_main = true
    end
  end
  local at_end, told = end_of_files(by_cpu, has_main), false
  local heed = heeded_stops(#plan.numbers)
  local function stops()
    local n, now = 0, C.pg_now()
    if now < next_time then return 0 end
    for cpu, names in pairs(by_cpu) do
      n = n + workers.call(cpu, "apps.click.click", "take_stops", names)
    end
    if not told and at_end() then n, told = n + 1, true end
    local due, waits = heed(n, now)
    next_time = now + (waits and ASK_AGAIN_SECONDS or ASK_SECONDS)
    return due
  end
  return function ()
    local n = stops()
    if has_main then return click.stop(app_of(0), n) end
    return n > 0
  end
end

--- Start the router's parts: returns a function that runs them until it stops. The
--- router itself, which is closed, has their handlers then. Or false: it can't be
--- divided, which the reporter is told; nothing has run.
function threads.start(router, plan, text, o, reporter)
  router:close()
  placement.use(nil)
  local elsewhere = finder(plan, router)
  click.look_elsewhere(app_of(0), elsewhere, joined.of_whole(router))
  local ok, err = pcall(engine.configure, configuration(plan, text, o))
  if not ok then
    if not failure.is(err) then error(err, 0) end
    reporter:warning("StaticThreadSched has no effect: %s", tostring(err))
    return false
  end
  control.serve(router, function (name) return elsewhere(router, name) end)
  control.let_in()
  function router:handler_read(full)
    local name, arguments = handlers.split(full)
    local element, rest = name:match("^([^.]+)%.(.+)$")
    local e = element and elsewhere(self, element)
    if not e then return nil, ("no '%s' handler"):format(name) end
    return handlers.read(self, e, rest, arguments)
  end
  return function ()
    engine.main{no_report = true, measure_latency = false, ask_within = TIMER_SECONDS,
                done = watch(plan)}
    if engine.interrupted then click.interrupt(app_of(0)) end
  end
end

return threads
