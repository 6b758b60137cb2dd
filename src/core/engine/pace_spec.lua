-- SPDX-License-Identifier: Apache-2.0
-- How the sleep grows and shrinks, on an engine that is only a table. What that
-- does to the CPU is in core/app_spec.lua.

local C = require("core.native")
local counter = require("core.counter")
local counters = require("core.engine.counters").counters
local pace = require("core.engine.pace")
local packet = require("core.packet")
local waking = require("core.idle.waking")

local function slept_times() return tonumber(counter.read(counters.sleeps)) end

local function breath(engine)
  pace.breath(engine, C.pg_monotonic())
  return engine.sleep
end

local function move_a_packet()
  packet.free(packet.allocate())
end

describe("the sleep between breaths", function ()
  -- Something has to be looked at to see whether it has packets.
  before_each(function ()
    waking.arrange({polled = {pull = function () end}}, {}, {}, {})
  end)
  after_each(function () waking.arrange({}, {}, {}, {}) end)

  it("grows by 1 us up to maxsleep while nothing moves", function ()
    local engine = {sleep = 0, maxsleep = 5}
    move_a_packet()
    breath(engine)
    -- (It naps for a while, if packets came fast in this process before.)
    while breath(engine) == 0 do end
    local sleeps = {engine.sleep}
    for i = 2, 7 do sleeps[i] = breath(engine) end
    assert.same({1, 2, 3, 4, 5, 5, 5}, sleeps)
  end)

  it("halves after each breath that moved a packet", function ()
    local engine, sleeps = {sleep = 100, maxsleep = 100}, {}
    for i = 1, 8 do
      move_a_packet()
      sleeps[i] = breath(engine)
    end
    assert.same({50, 25, 12, 6, 3, 1, 0, 0}, sleeps)
  end)

  it("isn't with `never`", function ()
    local engine = {sleep = 7, maxsleep = 100, sleep_mode = "never"}
    for _ = 1, 3 do assert.equal(7, breath(engine)) end
  end)

  it("isn't with busywait", function ()
    local engine = {sleep = 7, maxsleep = 100, busywait = true, Hz = 0.001}
    for _ = 1, 3 do assert.equal(7, breath(engine)) end
  end)

  it("makes Hz breaths a second, though each begins a little late", function ()
    local due = pace.next_breath(1000, 100)
    for i = 1, 1000 do due = pace.next_breath(due + i % 9 * 1e-3, 100) end
    assert.is_near(10 + 0.01, due - 1000, 1e-9)
    assert.is_near(2000.01, pace.next_breath(2000, 100), 1e-9) -- it took long
    assert.is_near(1500.01, pace.next_breath(1500, 100), 1e-9) -- another loop
  end)

  it("fills up the time of a breath with Hz", function ()
    local engine = {sleep = 0, maxsleep = 100, Hz = 200}
    local began = C.pg_monotonic()
    pace.breath(engine, began)
    assert.is_true(C.pg_monotonic() - began >= 1 / 200)
    local late = C.pg_monotonic() - 1
    pace.breath(engine, late) -- a breath that took a second: no sleep
    assert.equal(0, engine.sleep)
  end)
end)

describe("the sleep until something comes", function ()
  -- Milliseconds that the engine slept after an idle breath, with such apps.
  local function slept(apps, limits)
    waking.arrange(apps, {}, {}, {})
    limits = {ends = limits.ends or math.huge, again = limits.again,
              asked = limits.asked or not limits.done and math.huge or nil}
    local engine = {sleep = 0, maxsleep = 1, tick_Hz = 1000, sleep_mode = "eager"}
    pace.breath(engine, C.pg_monotonic(), limits) -- maybe the first without progress
    local began = C.pg_monotonic()
    pace.breath(engine, began, limits)
    return (C.pg_monotonic() - began) * 1e3
  end
  after_each(function () waking.arrange({}, {}, {}, {}) end)

  it("is as long as there is nothing to do", function ()
    assert.is_true(slept({}, {}) >= 0.99e3 * waking.LONGEST_SECONDS)
  end)

  it("gets longer while nothing comes", function ()
    assert.same({0.2, 0.2, 0.25, 0.5},
      {pace.longest(0), pace.longest(1.6), pace.longest(2), pace.longest(4)})
    assert.equal(0.2, pace.patience(104, 100, {}))
  end)

  it("ends when done() is to be asked, or the time is over", function ()
    local before = slept_times()
    assert.is_true(slept({}, {asked = 0.01}) >= 9.9)
    assert.is_true(slept({}, {ends = C.pg_now() - 1}) >= 0)
    assert.equal(before + 2, slept_times()) -- of those with `asked`
  end)

  it("ends when done() said that it is to be asked again", function ()
    local ends, before = C.pg_now() + 0.05, slept_times()
    repeat slept({}, {done = true, again = ends}) until C.pg_now() >= ends - 20e-6
    assert.is_true(slept_times() > before)
    before = slept_times()
    slept({}, {done = true, again = ends})
    assert.equal(before, slept_times())
  end)

  it("gets longer while done() says nothing of when", function ()
    assert.equal(0.01, pace.patience(100, 100, {}))
    assert.equal(0.125, pace.patience(101, 100, {}))
    assert.equal(0.02, pace.patience(101, 100, {asked = 0.02}))
    assert.equal(0.5, pace.patience(101, 100, {asked = 0.02, again = 101.5}))
    assert.equal(0.125, pace.patience(101, 100, {again = "what else it returns"}))
  end)

  it("ends when an app is to tick", function ()
    local before = slept_times()
    local ticking = {tick = function () end}
    assert.is_true(slept({a = ticking}, {}) >= 0.99)
    ticking.tick_seconds = 0.02
    assert.is_true(slept({a = ticking}, {}) >= 19)
    assert.equal(before + 4, slept_times())
  end)

  it("lets a port see that its first peer has come", function ()
    local told, fds = {}, {counts = true} -- there is no peer, and no descriptor
    local port = {wake_fds = function () return fds end,
                  notify = function (_, on) told[#told + 1] = on end}
    slept({a = port}, {asked = 0.001})
    slept({a = port}, {asked = 0.001})
    assert.is_true(told[1])
    assert.is_false(told[#told])
    told, fds = {}, {} -- it only sends
    slept({a = port}, {asked = 0.001})
    assert.same({}, told)
  end)

  it("asks nothing of a port that is gone, and all of one that is new", function ()
    local told = {}
    local function port(name)
      return {wake_fds = function () return {counts = true} end,
              notify = function (_, on) table.insert(told, {name, on}) end}
    end
    local stays, goes = port("stays"), port("goes")
    waking.arrange({stays = stays, goes = goes}, {}, {}, {})
    waking.look(1000)
    assert.is_true(waking.listen())
    assert.is_false(waking.listen())
    assert.equal(2, #told)
    told = {}
    waking.arrange({stays = stays, new = port("new")}, {}, {}, {})
    waking.look(1000)
    waking.stop_listening()
    assert.is_true(waking.listen())
    waking.changed() -- descriptors are others
    waking.look(1000)
    assert.is_true(waking.listen())
    local on = {}
    for _, by in ipairs(told) do
      assert.not_equal("goes", by[1])
      on[by[1]] = by[2]
    end
    assert.same({stays = true, new = true}, on)
  end)

  it("ends before an app is due, which is looked for without a pause", function ()
    local before, due = slept_times(), math.huge
    local app = {pull = function () end, due_at = function () return due end}
    assert.is_true(slept({a = app}, {asked = 0.01}) >= 9.9)
    due = C.pg_now() + 1
    assert.is_true(slept({a = app}, {asked = 0.01}) >= 9.9)
    assert.equal(before + 4, slept_times())
    local engine = {sleep = 0, maxsleep = 100, tick_Hz = 1000, sleep_mode = "adaptive"}
    for _, seconds in ipairs{0, 1e-6, 50e-6} do
      due = C.pg_now() + seconds
      assert.is_false(pace.breath(engine, C.pg_now()))
    end
    app.wake_fds = function () return nil, "no descriptor" end
    due = math.huge
    assert.is_false(slept({a = app}, {}) == nil)
    assert.is_false(pace.breath(engine, C.pg_now()))
    assert.same({0, before + 4}, {engine.sleep, slept_times()})
  end)

  it("isn't where an app has to be looked at", function ()
    local before = slept_times()
    slept({a = {pull = function () end}}, {})
    slept({a = {push = function () end}}, {})
    slept({a = {wake_fds = function () return nil, "no descriptor" end}}, {})
    assert.equal(before, slept_times())
    local waits = {push = function () end, pull = function () end, needs_packets = true}
    slept({a = waits}, {asked = 0.001})
    assert.is_true(slept_times() > before)
    before = slept_times()
    slept({a = {push = function () end, needs_packets = true, restless = true,
                appname = "a"}}, {})
    assert.equal(before, slept_times())
  end)
end)
