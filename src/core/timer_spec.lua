-- SPDX-License-Identifier: Apache-2.0

local clock = require("core.lib.clock")
local timer = require("core.timer")

local MS = 1e6

describe("core.timer", function()
  local calls

  before_each(function()
    timer.ticks, timer.timers, calls = 0, {}, {}
  end)
  after_each(function()
    timer.ticks, timer.timers = false, {}
  end)

  local function record(t)
    calls[#calls + 1] = t.name .. timer.ticks
  end

  local function start(name, ms, mode, fn)
    local t = timer.new(name, fn or record, ms * MS, mode)
    timer.activate(t)
    return t
  end

  it("calls a timer once, when its time has come", function()
    start("a", 5)
    timer.run_to_time(4.9 * MS)
    assert.same({}, calls)
    timer.run_to_time(5 * MS)
    timer.run_to_time(20 * MS)
    assert.same({"a5"}, calls)
  end)

  it("rounds up to ticks, and takes 64-bit times", function()
    start("a", 1.5)
    timer.run_to_time(1999999ULL)
    assert.same({}, calls)
    timer.run_to_time(2000000ULL)
    assert.same({"a2"}, calls)
  end)

  it("repeats, in order of time and then of activation, over a long step", function()
    start("a", 3, "repeating")
    start("b", 4, "repeating")
    timer.run_to_time(12 * MS)
    assert.same({"a3", "b4", "a6", "b8", "a9", "b12", "a12"}, calls)
  end)

  it("calls as often as time allows, in steps of any size", function()
    local expected, count = 0, 0
    for period = 1, 50 do
      start("t", period, "repeating", function() count = count + 1 end)
      expected = expected + math.floor(2000 / period)
    end
    local now = 0
    while now < 2000 do
      now = math.min(2000, now + math.random(7))
      timer.run_to_time(now * MS)
    end
    assert.equal(expected, count)
  end)

  it("can be activated again, but not twice at once", function()
    local a = start("a", 2)
    assert.has_error(function() timer.activate(a) end,
      "timer 'a' is active already")
    timer.run_to_time(2 * MS)
    timer.activate(a)
    timer.run_to_time(4 * MS)
    assert.same({"a2", "a4"}, calls)
  end)

  it("isn't called after cancel", function()
    local a = start("a", 2, "repeating")
    start("b", 2)
    assert.is_true(timer.cancel(a))
    assert.is_nil(timer.cancel(a))
    timer.run_to_time(10 * MS)
    assert.same({"b2"}, calls)
  end)

  it("may cancel itself and others from its function", function()
    local b, c
    local a = start("a", 1, "repeating", function(t)
      record(t)
      timer.cancel(b)
    end)
    b = start("b", 1)
    c = start("c", 1, "repeating", function(t)
      record(t)
      if timer.ticks == 2 then
        timer.cancel(a)
        timer.cancel(c)
      end
    end)
    timer.run_to_time(2 * MS)
    assert.same({"a1", "c1", "a2", "c2"}, calls)
    assert.is_nil(timer.cancel(c))
    timer.run_to_time(5 * MS)
    assert.equal(4, #calls)
  end)

  it("may start others, and itself, from its function", function()
    start("a", 1, "once", function(t)
      record(t)
      start("now", 0)
      start("later", 1)
    end)
    timer.run_to_time(1 * MS)
    assert.same({"a1"}, calls)
    timer.run_to_time(1 * MS)
    assert.same({"a1", "now1"}, calls)
    timer.run_to_time(2 * MS)
    assert.same({"a1", "now1", "later2"}, calls)
  end)

  it("may start one that is due at once in a run that is late", function()
    start("a", 1, "once", function(t)
      record(t)
      start("now", 0)
    end)
    timer.run_to_time(5 * MS)
    assert.same({"a1", "now2"}, calls)
    start("at once", 0)
    assert.equal(0, timer.due_within(1))
    timer.run_to_time(5 * MS)
    assert.same({"a1", "now2", "at once5"}, calls)
    assert.equal(1, timer.due_within(1))
  end)

  it("never calls one early, however long ago the last run was", function()
    local ns = 1e15
    local nanoseconds = clock.nanoseconds
    finally(function() clock.nanoseconds = nanoseconds end)
    clock.nanoseconds = function() return ns end
    local function run_at(ms)
      ns = 1e15 + ms * MS
      timer.run()
    end
    timer.ticks = false
    start("first", 1000)
    run_at(0)
    ns = ns + 500 * MS -- a long breath
    start("late", 300, "once", function(t)
      record(t)
      ns = ns + 100 * MS -- it takes long, too
      start("after", 50)
    end)
    start("often", 200, "repeating")
    run_at(799)
    assert.same({"often1000000700"}, calls)
    run_at(800)
    run_at(949)
    run_at(950)
    assert.same({"often1000000700", "late1000000800", "often1000000900",
      "after1000000950"}, calls)
    run_at(1000)
    run_at(1300) -- twice, in its rhythm
    assert.same({"first1000001000", "often1000001100", "often1000001300"},
      {unpack(calls, 5)})
  end)

  it("starts from the clock by itself", function()
    timer.ticks = false
    timer.run()
    start("a", 0, "once", function(t) calls[#calls + 1] = t.name end)
    local expired = clock.nanoseconds() + 5 * MS
    start("b", 2, "once", function(t) calls[#calls + 1] = t.name end)
    local now
    repeat
      now = clock.nanoseconds()
      timer.run()
    until now >= expired
    assert.same({"a", "b"}, calls)
  end)
end)
