-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local difference = require("core.engine.difference")

local A, B, Tuned = {}, {}, {reconfig = function () end}

local function graph(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do c.apps[name] = {class = app[1], arg = app[2]} end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  return c
end

describe("the difference of two configurations", function ()
  it("is none for equal ones", function ()
    local apps, links = {a = {A, {1, {x = 2}}}, b = {B}}, {"a.x -> b.y"}
    assert.is_true(difference.none(graph(apps, links),
      graph({a = {A, {1, {x = 2}}}, b = {B}}, links)))
    assert.is_false(difference.none(graph(apps, links), graph(apps)))
    assert.is_false(difference.none(graph(apps), graph(apps, links)))
    assert.is_false(difference.none(graph(apps), graph{a = apps.a}))
    assert.is_false(difference.none(graph{a = {A, 1}}, graph{a = {A, 2}}))
  end)

  it("says what becomes of each app", function ()
    local old = graph{gone = {A}, class = {A}, arg = {A, 1}, tuned = {Tuned, 1},
                      forced = {A}, tuned_too = {Tuned}, same = {A}}
    local new = graph{came = {B}, class = {B}, arg = {A, 2}, tuned = {Tuned, 2},
                      forced = {A}, tuned_too = {Tuned}, same = {A}}
    local d = difference.of(old, new, nil, {forced = "restart", tuned_too = "reconfig"})
    assert.same({"came"}, d.start)
    assert.same({"gone"}, d.stop)
    assert.same({"arg", "class", "forced"}, d.restart)
    assert.same({"tuned", "tuned_too"}, d.reconfig)
    assert.same({came = "start", arg = "restart", class = "restart",
      forced = "restart", tuned = "reconfig", tuned_too = "reconfig"}, d.change)
  end)

  it("asks whether an app that runs can be reconfigured", function ()
    local d = difference.of(graph{a = {A, 1}, b = {Tuned, 1}},
      graph{a = {A, 2}, b = {Tuned, 2}}, function (name) return name == "a" end)
    assert.same({"a"}, d.reconfig)
    assert.same({"b"}, d.restart)
  end)
end)
