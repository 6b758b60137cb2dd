-- SPDX-License-Identifier: Apache-2.0
local actions = require("core.actions")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")

local Plain = {new = function (class) return setmetatable({}, {__index = class}) end}
local Tunable = {new = Plain.new, reconfig = function (self) self.tuned = true end}

local function graph(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, app[1], app[2]) end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  return c
end

-- The actions as lines of text.
local function text(list)
  local lines = {}
  for i, action in ipairs(list) do
    local words = {action[1]}
    for _, argument in ipairs(action[2]) do
      if type(argument) == "string" then words[#words + 1] = argument end
    end
    lines[i] = table.concat(words, " ")
  end
  return lines
end

describe("core.actions", function ()
  after_each(engine.stop)

  it("lists Snabb's actions, links off first and on last", function ()
    local old = graph({a = {Plain}, b = {Plain, 1}, c = {Plain}, t = {Tunable, 1}},
      {"a.x -> b.y", "c.x -> a.y"})
    local new = graph({a = {Plain}, b = {Plain, 2}, d = {Plain}, t = {Tunable, 2}},
      {"a.x -> b.y", "d.x -> t.y"})
    assert.same({
      "unlink_output c x", "unlink_input a y", "free_link c.x -> a.y",
      "stop_app c", "stop_app b", "start_app b", "start_app d", "reconfig_app t",
      "link_input b y a.x -> b.y",
      "new_link d.x -> t.y", "link_output d x d.x -> t.y", "link_input t y d.x -> t.y",
    }, text(actions.compute(old, new)))
  end)

  it("makes of them the graph they were computed for", function ()
    local old = graph({a = {basic.Source}, b = {basic.Sink}}, {"a.x -> b.y"})
    local new = graph({a = {basic.Source}, t = {basic.Tee}, s = {basic.Sink}},
      {"a.x -> t.input", "t.out -> s.input"})
    engine.configure(old)
    local source = engine.app_table.a
    engine.apply_config_actions(engine.compute_config_actions(old, new))
    assert.same(new, engine.configuration)
    assert.equal(source, engine.app_table.a)
    for _ = 1, 3 do engine.breathe() end
    assert.is_true(require("core.link").stats(engine.app_table.s.input.input)
      .rxpackets > 0)
  end)

  it("restarts and reconfigures as told, though the arguments are the same", function ()
    engine.configure(graph({a = {Plain, 1}, t = {Tunable, 1}}))
    local before, tuned = engine.app_table.a, engine.app_table.t
    engine.apply_config_actions{
      {"stop_app", {"a"}}, {"start_app", {"a", Plain, 1}},
      {"reconfig_app", {"t", Tunable, 1}},
    }
    assert.not_equal(before, engine.app_table.a)
    assert.equal(tuned, engine.app_table.t)
    assert.is_true(tuned.tuned)
  end)

  it("refuses what is no action", function ()
    assert.has_error(function () engine.apply_config_actions{{"explode", {}}} end)
  end)
end)
