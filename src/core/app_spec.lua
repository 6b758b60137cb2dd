-- SPDX-License-Identifier: Apache-2.0
-- The engine's loop: how it ends, its clock, timers and ticks, what it prints.
-- What changes a graph is in engine/apply_spec.lua, the order in order_spec.lua.

local C = require("core.native")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local testing = require("testing.support")
local timer = require("core.timer")

-- An app whose methods are those of `methods`.
local function app_of(methods)
  return {new = function () return setmetatable({}, {__index = methods}) end}
end

local function configure(apps, links)
  local c = config.new()
  for name, class in pairs(apps) do config.app(c, name, class) end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  engine.configure(c)
end

local function breaths_of(options)
  engine.report{} -- prints nothing, but brings the counters up to date
  local before = counter.read(engine.breaths)
  options.no_report = true
  engine.main(options)
  return tonumber(counter.read(engine.breaths) - before)
end

after_each(function ()
  engine.configure(config.new())
  engine.busywait, engine.Hz, engine.tick_Hz = false, false, 1000
end)

describe("engine.main", function ()
  it("takes one breath for a duration of 0", function ()
    local pulls = 0
    configure{a = app_of{pull = function () pulls = pulls + 1 end}}
    assert.equal(1, breaths_of{duration = 0})
    assert.equal(1, pulls)
  end)

  it("runs for the duration", function ()
    local t = C.pg_monotonic()
    breaths_of{duration = 0.05}
    assert.is_true(C.pg_monotonic() - t >= 0.05)
  end)

  it("runs until done, asked once after each breath", function ()
    local n = 0
    assert.equal(7, breaths_of{done = function ()
      n = n + 1
      return n == 7
    end})
  end)

  it("refuses duration and done together", function ()
    local ok, err = pcall(engine.main, {duration = 1, done = function () end})
    assert.is_false(ok)
    assert.matches("`duration` or `done`, not both", err)
  end)

  it("refuses settings that can't be, before it catches signals", function ()
    local said, status = testing.script([[
      local function caught()
        return io.open("/proc/self/status"):read("*a"):match("SigCgt:%s*(%x+)")
      end
      local before = caught()
      for _, name in ipairs{"watchdog", "stuck_worker"} do
        for _, value in ipairs{"five", 0.1, -1, true} do
          local good = engine[name]
          engine[name] = value
          local ok, err = pcall(engine.main, {duration = 0})
          engine[name] = good
          assert(not ok and err.status == 2, tostring(err))
          print(err)
        end
      end
      assert(caught() == before)]])
    assert.equal(0, status, said)
    local wrong = {}
    for _, value in ipairs{"five", "0.1", "-1", "true"} do
      wrong[#wrong + 1] = ("engine.watchdog is '%s'; it must be a number of seconds "
        .. "from 0.2 on, or false\n"):format(value)
    end
    for _, value in ipairs{"five", "0.1", "-1", "true"} do
      wrong[#wrong + 1] = ("engine.stuck_worker is '%s'; it must be 'stop' or "
        .. "'give up'\n"):format(value)
    end
    assert.equal(table.concat(wrong), said)
  end)

  it("tells of an unknown option once, and runs", function ()
    local said, status = testing.script([[
      for _ = 1, 2 do
        engine.main{duration = 0, noreport = true, no_report = true}
      end]])
    assert.equal(0, status)
    assert.equal("perigee: engine.main has no option 'noreport'; it takes ask_within, "
      .. "done, duration, in_rows, measure_latency, no_report, no_timers, on_signal, "
      .. "report\n", said)
  end)

  it("raises what an app raises, after the report, and can run again", function ()
    configure{a = app_of{pull = function () error("pull failed") end}}
    local ok, err
    local said = table.concat(testing.printed(function ()
      ok, err = pcall(engine.main, {duration = 1})
    end), "\n")
    assert.is_false(ok)
    assert.matches("pull failed", tostring(err))
    assert.matches("load: ", said)
    configure{}
    assert.is_true(breaths_of{duration = 0} >= 1)
    local t = engine.now()
    C.pg_sleep(0.001)
    assert.is_true(engine.now() > t)
  end)

  it("measures how long breaths take, unless told not to", function ()
    local latency = engine.enable_latency_histogram()
    local before = tonumber(latency.total)
    local n = breaths_of{duration = 0.01}
    assert.equal(n, tonumber(latency.total) - before)
    breaths_of{duration = 0.01, measure_latency = false}
    assert.equal(n, tonumber(latency.total) - before)
  end)

  it("can be called again with another graph", function ()
    for _, class in ipairs{"Sink", "Tee"} do
      configure({a = basic.Source, b = basic[class]}, {"a.output -> b.input"})
      breaths_of{duration = 0.002}
      assert.is_true(engine.link_table["a.output -> b.input"].read > 0)
    end
  end)
end)

describe("the clock", function ()
  it("stands still in a breath, and goes on from breath to breath", function ()
    local times, constant, began = {}, true, C.pg_monotonic()
    local function note()
      local t = engine.now()
      C.pg_sleep(1e-5)
      constant = constant and engine.now() == t
      times[#times + 1] = t
    end
    configure({a = app_of{pull = note}, b = app_of{push = note, tick = note}},
      {"a.x -> b.y"})
    breaths_of{done = function () return #times >= 9 end}
    assert.is_true(constant)
    for i = 2, #times do assert.is_true(times[i] >= times[i - 1]) end
    assert.is_true(times[#times] > times[1])
    assert.is_true(times[1] >= began and times[#times] <= C.pg_monotonic())
  end)

  it("goes on when the engine doesn't run, or breathe() is called alone", function ()
    engine.breathe()
    local t = engine.now()
    C.pg_sleep(0.001)
    assert.is_true(engine.now() >= t + 0.001)
  end)
end)

describe("timers", function ()
  it("run while the engine does, unless told not to", function ()
    local fired, began = 0, C.pg_monotonic()
    timer.run() -- up to now: other specs ran without timers
    local t = timer.new("spec", function () fired = fired + 1 end, 1e6, "repeating")
    timer.activate(t)
    breaths_of{done = function () return fired >= 20 end}
    local after, ms = fired, (C.pg_monotonic() - began) * 1000
    assert.is_true(after <= ms + 1, ("%d times in %.1f ms"):format(after, ms))
    breaths_of{duration = 0.01, no_timers = true}
    assert.equal(after, fired)
    timer.cancel(t)
  end)
end)

describe("ticks", function ()
  it("come at most tick_Hz times a second, first in the first breath", function ()
    local ticks = 0
    configure{a = app_of{tick = function () ticks = ticks + 1 end}}
    engine.tick_Hz = 100
    local t = C.pg_monotonic()
    breaths_of{duration = 0.1}
    local seconds = C.pg_monotonic() - t
    assert.is_true(ticks >= 1)
    assert.is_true(ticks <= seconds * 100 + 1)
  end)

  it("stop with tick_Hz 0, and come again with another", function ()
    local ticks = 0
    configure{a = app_of{tick = function () ticks = ticks + 1 end}}
    breaths_of{duration = 0.002}
    engine.tick_Hz = 0
    breaths_of{duration = 0.005}
    local before = ticks
    breaths_of{duration = 0.02}
    assert.equal(before, ticks)
    engine.tick_Hz = 1000
    breaths_of{done = function () return ticks > before + 2 end}
    assert.is_true(ticks > before + 2)
  end)
end)

describe("the pace", function ()
  -- What `n` breaths took: seconds, those that the engine slept, and CPU seconds.
  local function cost(n)
    local breaths = 0
    local t, slept, cpu = C.pg_monotonic(), C.pg_cycles_slept(), C.pg_cpu_seconds()
    breaths_of{done = function ()
      breaths = breaths + 1
      return breaths == n
    end}
    return C.pg_monotonic() - t, tonumber(C.pg_cycles_slept() - slept)
      / tonumber(C.pg_tsc_hz()), C.pg_cpu_seconds() - cpu
  end

  it("of an idle engine leaves the CPU alone", function ()
    configure({a = app_of{pull = function () end}, b = basic.Sink}, {"a.x -> b.y"})
    cost(2 * engine.maxsleep)
    assert.equal(engine.maxsleep, engine.sleep)
    local seconds, slept = cost(500)
    local least = 0.99 * 500 * engine.maxsleep * 1e-6
    assert.is_true(slept >= least and slept <= seconds, ("%.4f of %.4f s"):format(slept,
      seconds))
  end)

  it("of one that moves packets never sleeps", function ()
    configure({a = basic.Source, b = basic.Sink}, {"a.x -> b.y"})
    breaths_of{duration = 0.05}
    assert.equal(0, engine.sleep)
  end)

  it("with busywait is without sleep", function ()
    configure({a = app_of{pull = function () end}, b = basic.Sink}, {"a.x -> b.y"})
    engine.busywait = true
    assert.equal(0, (select(2, cost(500))))
  end)

  it("with Hz is that many breaths a second at most, packets or not", function ()
    configure({a = basic.Source, b = basic.Sink}, {"a.x -> b.y"})
    engine.Hz = 200
    local seconds, _, cpu = cost(40)
    assert.is_true(seconds >= 39 / 200, seconds)
    assert.is_true(cpu < 0.5 * seconds, cpu)
  end)
end)

describe("a signal", function ()
  local SCRIPT = [[
    local basic = require("apps.basic.basic_apps")
    local c = config.new()
    config.app(c, "source", basic.Source)
    config.app(c, "sink", basic.Sink)
    config.link(c, "source.output -> sink.input")
    local function stop() print("stopped") end
    config.app(c, "last", {new = function () return {stop = stop} end})
    engine.configure(c)
    os.execute("(sleep 0.3; kill -%s $PPID) &")
    engine.main{duration = 30}
    print(engine.interrupted)
    if ... then engine.main{duration = 30} print("never") end]]

  for _, name in ipairs{"INT", "TERM", "HUP"} do
    it("SIG" .. name .. " ends the run with its report, stops apps #slow", function ()
      local code = SCRIPT:gsub("%%s", name)
      local said, status = testing.script(code)
      assert.equal(0, status)
      assert.matches("load: .*SIG" .. name .. "\nstopped\n$", said)
    end)
  end

  it("ends a program that would run again #slow", function ()
    local code = SCRIPT:gsub("%%s", "INT")
    local said, status = testing.script(code, {}, {"again"})
    assert.equal(0, status)
    assert.matches("SIGINT\nstopped\n$", said)
    assert.not_matches("never", said)
  end)
end)

describe("engine.stop", function ()
  it("stops all apps and frees all links", function ()
    local stopped = 0
    local Class = app_of{stop = function () stopped = stopped + 1 end}
    configure({a = Class, b = Class}, {"a.x -> b.y"})
    engine.stop()
    assert.equal(2, stopped)
    assert.is_nil(next(engine.app_table))
    assert.is_nil(next(engine.link_table))
    engine.stop()
    assert.equal(2, stopped)
  end)
end)

describe("counters", function ()
  it("of configurations and breaths are there, and published", function ()
    local configs = counter.read(engine.configs)
    configure{}
    assert.equal(1, tonumber(counter.read(engine.configs) - configs))
    breaths_of{duration = 0}
    local published = counter.open("engine/breaths.counter")
    assert.equal(counter.read(engine.breaths), counter.read(published))
  end)
end)
