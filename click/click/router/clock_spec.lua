-- SPDX-License-Identifier: Apache-2.0
local clock = require("click.router.clock")

local function simulated() return clock.new{simulated = true} end

describe("click.router.clock", function ()
  it("goes on by a nanosecond a reading, simulated", function ()
    local c = simulated()
    assert.equal(1e9, c:now())
    assert.equal(1000000000000000001LL, c:nanoseconds())
    assert.equal(1000000000000000002LL, c:nanoseconds())
  end)

  it("goes on by what is asked for", function ()
    local c = clock.new{simulated = true, tick = 1e-6}
    assert.equal(1000000000000000000LL, c:nanoseconds())
    assert.equal(1000000000000001000LL, c:nanoseconds())
  end)

  it("is the system's clock else", function ()
    local c = clock.new()
    assert.is_true(math.abs(c:now() - os.time()) < 5)
    assert.is_true(math.abs(tonumber(c:nanoseconds()) / 1e9 - os.time()) < 5)
    assert.is_true(math.abs(c:to_steady(os.time()) - c:steady()) < 5)
    assert.is_false(c:jump())
  end)

  it("never shows an earlier time than before", function ()
    local c = clock.new()
    c:begin()
    local last, ends, n = c:nanoseconds(), c:steady() + 0.05, 0
    while c:steady() < ends do
      local now = c:nanoseconds()
      assert.is_true(now >= last)
      last, n = now, n + 1
    end
    assert.is_true(n > 0)
  end)

  it("runs timers in the order of their times, then as they were set", function ()
    local c, got = simulated(), ""
    local function add(name, seconds)
      c:timer(function () got = got .. name end):after(seconds)
    end
    add("c", 2) add("a", 1) add("d", 2) add("b", 1.5)
    assert.equal(0, c:run())
    while c:jump() do c:run() end
    assert.equal("abcd", got)
    assert.is_true(c:steady() >= 2)
  end)

  it("takes timers back, and sets them anew", function ()
    local c, got = simulated(), {}
    local timers = {}
    for i = 1, 50 do
      timers[i] = c:timer(function () got[#got + 1] = i end)
      timers[i]:after((i * 37) % 50 + 1)
    end
    for i = 1, 50, 2 do timers[i]:unschedule() end
    assert.is_false(timers[1]:scheduled())
    timers[2]:after(0.5)
    while c:jump() do c:run() end
    local due = {2}
    for s = 0, 49 do
      for i = 4, 50, 2 do if (i * 37) % 50 == s then due[#due + 1] = i end end
    end
    assert.same(due, got)
    assert.is_nil(c:next())
  end)

  it("keeps periodic timers in step", function ()
    local c, times = simulated(), {}
    local t
    t = c:timer(function ()
      times[#times + 1] = t.due
      if #times < 3 then t:again(0.25) end
    end)
    t:at_steady(0.25)
    while c:jump() do c:run() end
    assert.same({0.25, 0.5, 0.75}, times)
  end)

  it("stands still until it begins", function ()
    local c = clock.new()
    local t = c:timer(function () end)
    t:after(0.1)
    local ends = require("core.native").pg_now() + 0.2
    while require("core.native").pg_now() < ends do assert.equal(0, c:run()) end
    assert.equal(0, c:steady())
    c:begin()
    assert.equal(0, c:run())
    assert.is_true(c:steady() < 0.1)
    while t:scheduled() do c:run() end
    assert.is_true(c:steady() >= 0.1)
  end)

  it("doesn't run a timer that is set for now again without end", function ()
    local c, n = simulated(), 0
    local t
    t = c:timer(function () n = n + 1; t:at_steady(0) end)
    t:at_steady(0)
    c:run()
    assert.equal(64, n)
  end)
end)
