-- SPDX-License-Identifier: Apache-2.0
-- When packets are due, with a clock that the test sets.

local schedule = require("net.rate.schedule")

-- How many are sent at the time `now`, each `gap` seconds after the one before.
local function burst(s, now, gap)
  local n = 0
  if schedule.begin(s, now) then
    while s.due <= now do
      schedule.advance(s, gap)
      n = n + 1
    end
  end
  return n
end

describe("A schedule", function ()
  it("spaces packets evenly, without drift", function ()
    local s = schedule.new()
    for i = 1, 3e5 do
      assert(schedule.begin(s, s.due + i % 7 * 1e-8)) -- each a little late
      schedule.advance(s, 1 / 3e5)
    end
    assert.is_true(math.abs(s.due - 1) < 1e-9, s.due)
  end)

  it("sends what is due, and no more", function ()
    local s = schedule.new()
    assert.are.equal(1, burst(s, 0, 1e-6))
    assert.are.equal(0, burst(s, 0.9e-6, 1e-6))
    assert.are.equal(1, burst(s, 1.5e-6, 1e-6))
    assert.are.equal(3, burst(s, 4.5e-6, 1e-6))
    assert.are.equal(0, s.skipped)
  end)

  it("catches up a little, and tells how much it gave up", function ()
    local s = schedule.new()
    burst(s, 0, 1e-3)
    local n = burst(s, 2.0005, 1e-3)
    assert.is_true(n == 101 or n == 100, n)
    assert.is_true(math.abs(s.skipped - (2.0005 - 0.001 - 0.1)) < 1e-9)
    assert.is_true(math.abs(s.latest - 1.9995) < 1e-9)
    assert.are.equal(1, burst(s, 2.0015, 1e-3))
  end)

  it("catches up as much as it was told to", function ()
    local s = schedule.new(1)
    schedule.restart(s, 50)
    assert.are.equal(1, burst(s, 50, 0.125))
    assert.are.equal(9, burst(s, 60, 0.125))
    s = schedule.new(math.huge)
    assert.are.equal(1 + 80, burst(s, 10, 0.125))
    assert.are.equal(0, s.skipped)
  end)

  it("makes up for nothing after a restart", function ()
    local s = schedule.new()
    burst(s, 0, 0.25)
    schedule.restart(s, 7)
    assert.are.equal(1, burst(s, 7, 0.25))
    assert.are.equal(0.5, s.due - s.skipped) -- two gaps
    assert.are.equal(0, s.latest)
  end)

  it("can be hurried when it waits for long", function ()
    local s = schedule.new()
    burst(s, 0, 1e6)
    assert.are.equal(0, burst(s, 1, 1))
    schedule.restart(s, 1)
    assert.are.equal(1, burst(s, 1, 1))
    assert.are.equal(2, s.due)
  end)
end)
