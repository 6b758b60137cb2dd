-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local on_error = require("core.on_error")
local plan = require("core.engine.plan")

local Plain = {new = function () return {} end}
local Pulling = {new = Plain.new, pull = function () end}

local refused = require("testing.support").usage_error

-- The app "a" of the class, with these inputs and outputs.
local function graph(class, inputs, outputs)
  local c = config.new()
  config.app(c, "a", class)
  config.app(c, "other", Plain)
  for _, name in ipairs(inputs) do
    config.link(c, ("other.to_%s -> a.%s"):format(name, name))
  end
  for _, name in ipairs(outputs) do
    config.link(c, ("a.%s -> other.%s"):format(name, name))
  end
  return c
end

describe("config.on_error", function ()
  it("refuses what can't be, with the value and what can", function ()
    local c = graph(Plain, {}, {})
    for _, case in ipairs{
        {{"b", "drop"}, "config.on_error names an app 'b'; the apps are: a, other"},
        {{"a", "retry"}, "config.on_error of app 'a': 'retry' is none of stop, "
          .. "restart, bypass, drop"},
        {{"a"}, "config.on_error of app 'a': 'nil' is none of stop, restart, bypass, "
          .. "drop"},
        {{"a", "drop", {times = 3}}, "config.on_error of app 'a': 'drop' has no option "
          .. "'times'; restart takes times and seconds"},
        {{"a", "restart", {tries = 3}}, "config.on_error of app 'a': 'restart' has no "
          .. "option 'tries'; restart takes times and seconds"},
        {{"a", "restart", {times = 1.5}},
          "config.on_error of app 'a': times = 1.5: give a whole number from 0 on"},
        {{"a", "restart", {seconds = "1"}},
          "config.on_error of app 'a': seconds = 1: give a number from 0.001 on"}} do
      assert.equal(case[2], refused(config.on_error, c, unpack(case[1])))
    end
    assert.is_nil(c.apps.a.on_error)
  end)

  it("is kept in copies of the configuration", function ()
    local c = graph(Plain, {}, {})
    config.on_error(c, "a", "restart", {times = 3})
    config.on_error(c, "other", "stop")
    assert.same({policy = "restart", times = 3, seconds = 10},
      config.copy(c).apps.a.on_error)
    assert.equal("stop", on_error.of(c, config, "other", Plain, "drop").policy)
  end)

  it("lets packets bypass only what has one input and one output", function ()
    for _, case in ipairs{
        {Plain, {"i"}, {}, "it has the inputs i and the outputs none, "},
        {Plain, {"i", "j"}, {"o"}, "it has the inputs i, j and the outputs o, "},
        {Plain, {}, {"o"}, "it has the inputs none and the outputs o, "},
        {Pulling, {"i"}, {"o"}, "packets come in at it %(it has pull%(%)%)"}} do
      local c = graph(case[1], case[2], case[3])
      config.on_error(c, "a", "bypass")
      assert.matches("^app 'a': packets can't bypass it on an error: " .. case[4]
        .. ".*; let it be stop, restart or drop$", refused(plan.check, c))
    end
    local c = graph(Plain, {"i"}, {"o"})
    config.on_error(c, "a", "bypass")
    plan.check(c)
  end)
end)

describe("the policy of an app without one", function ()
  it("is the default, or to stop where nothing can bypass it", function ()
    local c = graph(Plain, {"i"}, {"o"})
    for _, policy in ipairs(on_error.NAMES) do
      assert.equal(policy, on_error.of(c, config, "a", Plain, policy).policy)
    end
    assert.equal("stop", on_error.of(c, config, "a", Pulling, "bypass").policy)
    c = graph(Plain, {"i"}, {"o", "p"})
    assert.equal("stop", on_error.of(c, config, "a", Plain, "bypass").policy)
    assert.equal("drop", on_error.of(c, config, "a", Plain, "drop").policy)
  end)
end)

describe("an app that is part of another", function ()
  it("has the policy of that, or its own; what can't be bypassed stops", function ()
    local whole = {class = Plain,
                   on_error = {policy = "bypass", times = 1, seconds = 2}}
    local own = {class = Plain, on_error = {policy = "drop"}}
    assert.equal(own, on_error.inherit(own, whole))
    assert.equal(own, on_error.inherit(own, {class = Plain}))
    local part = on_error.inherit({class = Plain, arg = 3}, whole)
    assert.equal(3, part.arg)
    for outputs, policy in pairs{[1] = "bypass", [2] = "stop"} do
      local c = graph(Plain, {"i"}, outputs == 1 and {"o"} or {"o", "p"})
      c.apps.a = part
      plan.check(c)
      assert.equal(policy, on_error.of(c, config, "a", Plain, "restart").policy)
    end
  end)
end)

describe("one more restart", function ()
  it("is too many after so many in so many seconds", function ()
    local past, policy = {}, {times = 2, seconds = 10}
    local allowed = {}
    for time = 0, 30, 3 do
      if not on_error.too_many(past, policy, time) then allowed[#allowed + 1] = time end
    end
    assert.same({0, 3, 12, 15, 24, 27}, allowed)
    assert.is_true(on_error.too_many({}, {times = 0, seconds = 1}, 5))
  end)
end)
