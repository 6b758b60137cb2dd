-- SPDX-License-Identifier: Apache-2.0

local between = require("lib.control.between")
local timer = require("core.timer")

describe("lib.control.between", function ()
  local ticks, timers
  before_each(function ()
    ticks, timers = timer.ticks, timer.timers
    timer.ticks, timer.timers = 100, {}
  end)
  after_each(function () timer.ticks, timer.timers = ticks, timers end)

  local function run_to(tick) timer.run_to_time(tick * timer.ns_per_tick) end

  it("answers what the function returns, once it was called", function ()
    local answer = between.breaths(function () return {a = 1} end)
    assert.is_nil(answer())
    run_to(101)
    assert.same({a = 1}, answer())
  end)

  it("raises what the function raised", function ()
    local answer = between.breaths(function () error("no", 0) end)
    run_to(101)
    assert.same({false, "no"}, {pcall(answer)})
  end)

  it("calls what was asked for while timers that are late are called", function ()
    local inner
    between.breaths(function ()
      inner = between.breaths(function () return {b = 2} end)
    end)
    run_to(140)
    run_to(180)
    assert.same({b = 2}, inner())
  end)
end)
