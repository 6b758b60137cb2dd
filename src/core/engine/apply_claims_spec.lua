-- SPDX-License-Identifier: Apache-2.0
-- What only one app can have moves from app to app as configurations change.

local changes = require("testing.changes")
local config = require("core.config")
local engine = require("core.app")

local graph = changes.graph
local refused = changes.refused

after_each(function () engine.configure(config.new()) end)

describe("what only one app can have", function ()
  local held
  local Holder = {}
  Holder.__index = Holder
  Holder.check_arg = function (arg) return arg.thing end

  function Holder:new(arg)
    assert(not held[arg.thing], arg.thing .. " is taken")
    assert(not arg.broken, "broken")
    held[arg.thing] = true
    return setmetatable({thing = arg.thing}, Holder)
  end

  function Holder:stop() held[self.thing] = nil end

  before_each(function () held = {} end)

  it("moves from an app that goes to one that comes", function ()
    engine.configure(graph{a = {Holder, {thing = "x"}}})
    engine.configure(graph{b = {Holder, {thing = "x"}}})
    assert.same({x = true}, held)
    assert.is_nil(engine.app_table.a)
  end)

  it("moves to an app that claims only a part", function ()
    local Part = setmetatable({check_arg = function () return "x/queue 0" end},
      {__index = Holder})
    engine.configure(graph{a = {Holder, {thing = "x"}}})
    engine.configure(graph{b = {Part, {thing = "x"}}})
    assert.is_table(engine.app_table.b)
  end)

  it("is swapped between two apps", function ()
    engine.configure(graph{a = {Holder, {thing = "x"}}, b = {Holder, {thing = "y"}}})
    engine.configure(graph{a = {Holder, {thing = "y"}}, b = {Holder, {thing = "x"}}})
    assert.equal("y", engine.app_table.a.thing)
    assert.equal("x", engine.app_table.b.thing)
  end)

  it("comes back when the one that took it fails", function ()
    engine.configure(graph{a = {Holder, {thing = "x"}}})
    assert.matches("broken",
      refused(graph{b = {Holder, {thing = "x"}}, c = {Holder, {thing = "z",
        broken = true}}}))
    assert.same({x = true}, held)
    assert.matches("broken", refused(graph{b = {Holder, {thing = "x", broken = true}}}))
    assert.same({x = true}, held)
    assert.equal("x", engine.app_table.a.thing)
  end)

  it("is let go wholly after random changes #slow", function ()
    math.randomseed(os.time())
    local things = {"x", "y", "z"}
    for _ = 1, 200 do
      local c, left = config.new(), {unpack(things)}
      for _, name in ipairs{"a", "b", "c", "d"} do
        if #left > 0 and math.random(2) == 1 then
          local thing = table.remove(left, math.random(#left))
          config.app(c, name, Holder, {thing = thing, broken = math.random(8) == 1})
        end
      end
      pcall(engine.configure, c)
      local running = {}
      for name, app in pairs(engine.app_table) do
        assert.equal(app.thing, engine.configuration.apps[name].arg.thing)
        running[app.thing] = true
      end
      assert.same(running, held)
    end
    engine.configure(config.new())
    assert.same({}, held)
  end)
end)
