-- SPDX-License-Identifier: Apache-2.0
-- When packets are due, with a clock that the test sets.

local schedule = require("lib.traffic.schedule")

-- The times of `n` packets of `size` bytes, if nothing is ever late.
local function times(s, n, size)
  local due = {}
  for i = 1, n do
    due[i] = s.due
    schedule.advance(s, size)
  end
  return due
end

-- How many are sent at the time `now`.
local function burst(s, now, size)
  local n = 0
  if schedule.begin(s, now) then
    while s.due <= now do
      schedule.advance(s, size)
      n = n + 1
    end
  end
  return n
end

describe("lib.traffic.schedule", function()
  it("spaces packets evenly, without drift", function()
    local s = schedule.new{packets = 3e5}
    local due = times(s, 3e5 + 1, 60)
    assert.are.equal(0, due[1])
    assert.is_true(math.abs(due[2] - 1 / 3e5) < 1e-15)
    assert.is_true(math.abs(due[#due] - 1) < 1e-9)
  end)

  it("gives each frame its time on the wire", function()
    local s = schedule.new{bits = 1e10}
    assert.is_true(math.abs(times(s, 2, 60)[2] - 67.2e-9) < 1e-15)
    local after = (67.2 + 67.2 + 1230.4) * 1e-9
    assert.is_true(math.abs(times(s, 2, 1514)[2] - after) < 1e-12)
  end)

  it("sends what is due, and no more", function()
    local s = schedule.new{packets = 1e6}
    assert.are.equal(1, burst(s, 0, 60))
    assert.are.equal(0, burst(s, 0.9e-6, 60))
    assert.are.equal(1, burst(s, 1.5e-6, 60))
    assert.are.equal(3, burst(s, 4.5e-6, 60))
    assert.are.equal(0, s.skipped)
  end)

  it("catches up a little, and tells how much it gave up", function()
    local s = schedule.new{packets = 1000}
    burst(s, 0, 60)
    local n = burst(s, 2.0005, 60)
    assert.is_true(n == 101 or n == 100)
    assert.is_true(math.abs(s.skipped - (2.0005 - 0.001 - 0.1)) < 1e-9)
    assert.is_true(math.abs(s.latest - 1.9995) < 1e-9)
    assert.are.equal(1, burst(s, 2.0015, 60))
  end)

  it("makes Poisson arrivals: mean and deviation of the gaps are the same", function()
    for _, case in ipairs{{packets = 1e6}, {bits = 672e6}} do
      local s = schedule.new(case, "poisson", 7)
      local sum, squares, n, before = 0, 0, 200000, 0
      for _ = 1, n do
        schedule.advance(s, 60)
        local gap = (s.due - before) * 1e6
        sum, squares, before = sum + gap, squares + gap * gap, s.due
      end
      local mean = sum / n
      assert.is_true(math.abs(mean - 1) < 0.02, mean)
      assert.is_true(math.abs(math.sqrt(squares / n - mean * mean) - 1) < 0.03)
    end
  end)

  it("has no gaps without a rate", function()
    local s = schedule.new(nil)
    assert.are.same({0, 0, 0}, times(s, 3, 60))
    assert.is_true(schedule.begin(s, 12))
    assert.are.equal(0, s.latest)
  end)
end)
