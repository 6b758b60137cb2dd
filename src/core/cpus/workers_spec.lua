-- SPDX-License-Identifier: Apache-2.0
-- Graphs over several workers, as programs see them. Workers share CPUs where there
-- are fewer.

local C = require("core.native")
local account = require("core.engine.account")
local affinity = require("core.cpus.affinity")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local workers = require("core.cpus.workers")
local engine = require("core.app")
local Port = require("apps.port.port").Port
local pool = require("core.pool")
local shm = require("core.shm")
local testing = require("testing.flows")
local script = require("testing.support").script

local cpus = affinity.cpus()
local FIRST, SECOND = cpus[1], cpus[2] or cpus[1] + 1
local FLOWS = 100

-- Numbered packets through `apps` (names of Pass apps) to a sink that checks them.
local function line(packets, passes, placed)
  local c = config.new()
  config.app(c, "source", testing.Flows, {packets = packets, flows = FLOWS})
  config.app(c, "check", testing.Check, {flows = FLOWS})
  local from = "source"
  for _, name in ipairs(passes) do
    config.app(c, name, testing.Pass)
    config.link(c, ("%s.output -> %s.input"):format(from, name))
    from = name
  end
  config.link(c, from .. ".output -> check.input")
  for name, cpu in pairs(placed) do config.cpu(c, name, cpu) end
  return c
end

local function received() return testing.counted("check", "received") end

local function disorder()
  return {testing.counted("check", "mixed_up"), testing.counted("check", "lost")}
end

local function run_until(done)
  local ends = C.pg_monotonic() + 30
  engine.main{no_report = true, done = function ()
    return done() or C.pg_monotonic() > ends
  end}
  assert.is_true(done())
end

-- What the sink saw of `packets` packets.
local function outcome(packets, passes, placed)
  engine.configure(line(packets, passes, placed))
  run_until(function () return received() >= packets end)
  local seen = {received = received(), sum = testing.counted("check", "sum"),
    mixed_up = testing.counted("check", "mixed_up"),
    lost = testing.counted("check", "lost")}
  engine.stop()
  return seen
end

local function packets_now()
  return account.packets(engine.link_table, workers.report().in_links)
end

describe("core.cpus.workers", function ()
  before_each(function () engine.stop() end)
  after_each(function () engine.stop() end)

  it("gives the same packets however the apps are placed #slow", function ()
    local held = packets_now().held
    local reference = outcome(20000, {"a"}, {})
    assert.same({20000, 0, 0}, {reference.received, reference.mixed_up, reference.lost})
    for _, placed in ipairs{
      {a = FIRST}, {source = FIRST}, {check = FIRST}, {source = FIRST, check = SECOND},
      {source = FIRST, a = SECOND, check = FIRST},
      {source = FIRST, a = FIRST, check = SECOND},
      {source = FIRST, a = FIRST, check = FIRST},
    } do
      assert.same(reference, outcome(20000, {"a"}, placed))
    end
    assert.equal(held, packets_now().held)
    assert.equal(0, packets_now().in_rings)
    assert.same({}, workers.by_cpu)
  end)

  it("counts every packet while it runs", function ()
    local before = packets_now()
    local c = line(1e9, {"a"}, {source = FIRST, check = SECOND})
    engine.configure(c)
    local now
    for _ = 1, 100 do -- until it ends with packets under way
      engine.main{duration = 0.05, no_report = true}
      now = packets_now()
      if now.in_links + now.in_rings > 0 then break end
    end
    assert.equal(before.held, now.held)
    assert.is_true(now.in_links + now.in_rings > 0)
    local totals = engine.link_totals()
    local first = totals["source.output -> a.input"]
    local last = totals["a.output -> check.input"]
    assert.equal(testing.counted("source", "sent"), first.txpackets)
    assert.equal(received(), last.rxpackets)
    assert.equal(last.rxpackets * 60, last.rxbytes)
    assert.equal(received(), tonumber(now.freed - before.freed))
    assert.equal(first.txpackets - last.rxpackets, now.in_links + now.in_rings)
    local lost = engine.link_totals()
    assert.equal(0, lost["source.output -> a.input"].txdrop)
    engine.stop()
    local after = packets_now()
    assert.equal(before.held, after.held)
    assert.equal(0, after.in_links + after.in_rings)
  end)

  it("keeps one tree in shared memory", function ()
    engine.configure(line(1e9, {"a"}, {source = FIRST, check = SECOND}))
    local spec = "source.output -> a.input"
    local there = {}
    for _, name in ipairs(shm.children("links")) do there[name] = true end
    assert.is_true(there[spec] and there["a.output -> check.input"])
    assert.same({"dtime.counter", "rxbytes.counter", "rxpackets.counter",
                 "txbytes.counter", "txdrop.counter", "txpackets.counter"},
      shm.children("links/" .. spec))
    engine.stop()
    assert.is_false(shm.exists("links/" .. spec))
    assert.same({}, shm.children("workers"))
  end)

  it("leaves the graph as it was when a configuration is wrong", function ()
    local good = line(1e9, {}, {source = FIRST, check = SECOND})
    engine.configure(good)
    run_until(function () return received() > 0 end)
    local before = received()
    local bad = config.copy(good)
    config.app(bad, "extra", basic.Tee)
    bad.apps.extra.arg = {match = print}
    config.cpu(bad, "extra", FIRST)
    assert.error_matches(function () engine.configure(bad) end,
      "app 'extra' can.t run on a CPU of its own: .* field match is a function")
    bad.apps.extra = {class = testing.Flows, arg = "no table"} -- raises in new()
    bad.apps.extra.arg = nil
    assert.error_matches(function () engine.configure(bad) end, "app 'extra': ")
    run_until(function () return received() > before end)
    assert.same({0, 0}, disorder())
  end)

  it("doesn't stop workers that don't change #slow", function ()
    local function with(arg)
      local c = line(1e9, {"a", "b"}, {source = FIRST, a = FIRST, b = SECOND,
                                       check = SECOND})
      c.apps.a.arg = arg
      return c
    end
    engine.configure(with(1))
    local other = workers.by_cpu[SECOND].handle
    local configured = 0
    for i = 2, 6 do
      engine.main{duration = 0.01, no_report = true}
      engine.configure(with(i))
      configured = configured + 1
    end
    assert.equal(5, configured)
    assert.equal(other, workers.by_cpu[SECOND].handle)
    assert.same({0, 0}, disorder())
    assert.is_true(received() > 0)
  end)

  it("moves apps from one CPU to another #slow", function ()
    for _, to in ipairs{SECOND, FIRST, "main", SECOND} do
      local c = line(1e9, {"a"}, {source = FIRST, check = SECOND})
      if to ~= "main" then config.cpu(c, "a", to) end
      engine.configure(c)
      local before = received()
      run_until(function () return received() > before + 100 end)
      assert.equal(0, testing.counted("check", "mixed_up"))
    end
  end)

  it("joins apps by a ring port, in order #slow", function ()
    local function missing() -- from pool and free list: other specs may hold some
      return C.pg_pool_size() - C.pg_pool_available() - pool.freelist.nfree
    end
    local before = missing()
    for _ = 1, 2 do -- the second time its ends are free again
      local c = line(20000, {}, {source = FIRST, check = SECOND})
      c.links = {}
      config.app(c, "left", Port, "ring:between")
      config.app(c, "right", Port, "ring:between")
      config.cpu(c, "left", FIRST)
      config.cpu(c, "right", SECOND)
      config.link(c, "source.output -> left.input")
      config.link(c, "right.output -> check.input")
      engine.configure(c)
      run_until(function () return received() >= 20000 end)
      assert.same({0, 0}, disorder())
      engine.stop()
      assert.equal(before, missing())
    end
  end)

  it("breathes with engine.breathe too", function ()
    engine.configure(line(1e9, {"a"}, {a = FIRST}))
    local function carried()
      return engine.link_totals()["a.output -> check.input"].rxpackets
    end
    for _ = 1, 20 do engine.breathe() end
    local before = carried()
    assert.is_true(before > 0)
    C.pg_sleep(0.02)
    assert.equal(before, carried())
  end)

  it("leaks nothing when workers come and go #slow", function ()
    local c = line(1e9, {"a"}, {source = FIRST, check = SECOND})
    engine.configure(c)
    engine.stop()
    local held, size = packets_now().held, C.pg_pool_size()
    for _ = 1, 20 do
      engine.configure(c)
      engine.main{duration = 0.001, no_report = true}
      engine.stop()
    end
    assert.equal(held, packets_now().held)
    assert.equal(size, C.pg_pool_size())
    assert.equal(0, account.in_drivers(packets_now()))
  end)
end)

describe("An error on one CPU", function ()
  local GRAPH = [[
    local basic = require("apps.basic.basic_apps")
    local testing = require("testing.flows")
    local first, second = %d, %d
    local c = config.new()
    config.app(c, "source", testing.Flows, {packets = 1e9, flows = 10})
    config.app(c, "failing", testing.Failing, {after = 5000})
    config.app(c, "source2", testing.Flows, {packets = 1e9, flows = 10})
    config.app(c, "check", testing.Check, {flows = 10})
    config.link(c, "source.output -> failing.input")
    config.link(c, "source2.output -> check.input")
    config.cpu(c, "failing", first, %s)
    config.cpu(c, "check", second)
    engine.configure(c)
  ]]

  it("stops only that worker, and is told #slow", function ()
    local said, status = script(GRAPH:format(FIRST, SECOND, "nil") .. [[
      for _ = 1, 100 do engine.main{no_report = true, duration = 0.1} end
    ]])
    assert.equal(1, status)
    assert.matches("the worker on CPU %d+ has stopped: app 'failing': .*"
      .. "that was one packet too many\nstack traceback:", said)
    assert.matches("perigee: the worker on CPU %d+ stopped for an error in app "
      .. "'failing'; the others went on\n$", said)
  end)

  it("leaves the others at work, and drops are named #slow", function ()
    local said, status = script(GRAPH:format(FIRST, SECOND, "nil") .. [[
      local ok, err
      repeat
        ok, err = pcall(engine.main, {duration = 0.1, no_report = true})
      until not ok
      print(ok, err)
      local half = testing.counted("check", "received")
      print(pcall(engine.main, {duration = 0.2}))
      print("went on:", testing.counted("check", "received") > half)
    ]])
    assert.equal(0, status)
    assert.matches("false\tthe worker on CPU", said)
    assert.matches("dropped on source.output %-> failing.input: the worker on CPU %d+ "
      .. "has stopped", said)
    assert.matches("held by apps 0\n", said)
    assert.matches("went on:\ttrue", said)
  end)

  it("ends the program when nobody else has work", function ()
    local said, status = script(GRAPH:format(FIRST, FIRST, "nil") .. [[
      config.cpu(c, "source", first) config.cpu(c, "source2", first)
      engine.configure(c)
      engine.main{no_report = true}
    ]])
    assert.equal(1, status)
    assert.matches("one packet too many", said)
  end)

  it("is followed by a new start with restart = true #slow", function ()
    local said, status = script(GRAPH:format(FIRST, SECOND, "{restart = true}") .. [[
      engine.main{duration = 3, no_report = true}
      print("done")
    ]])
    assert.equal(0, status)
    local stops = select(2, said:gsub("has stopped: app 'failing'", ""))
    local starts = select(2, said:gsub("runs again", ""))
    assert.is_true(stops >= 2 and starts >= 2)
    assert.matches("done\n$", said)
  end)
end)
