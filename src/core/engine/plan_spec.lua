-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local failure = require("core.failure")
local plan = require("core.engine.plan")

local A = {new = function () return {} end}
local B = {new = A.new}
local Tuned = {new = A.new, reconfig = function () end}
local Claiming = {new = A.new, check_arg = function (arg) return arg end}

-- A configuration of {NAME = {CLASS, ARG}} and a list of links.
local function graph(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, app[1], app[2]) end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  return c
end

local function make(old, new)
  local started = {}
  for name, app in pairs(old.apps) do started[name] = app.class end
  return plan.make(old, new, started)
end

local function refused(new)
  local ok, err = pcall(make, config.new(), new)
  assert.is_false(ok)
  assert.is_true(failure.is(err), tostring(err))
  assert.equal(2, err.status)
  return tostring(err)
end

describe("a plan", function ()
  it("has nothing to do for the same configuration", function ()
    local apps = {a = {A, {1, {x = 2}}}, b = {B}}
    local p = make(graph(apps, {"a.x -> b.y"}),
      graph({a = {A, {1, {x = 2}}}, b = {B}}, {"a.x -> b.y"}))
    for name, list in pairs(p) do assert.same({}, list, name) end
  end)

  it("starts, stops, restarts and reconfigures, each in order of name", function ()
    local old = graph{gone = {A}, same = {A, 1}, class = {A}, arg = {A, {1}},
                      tuned = {Tuned, 1}, also_gone = {B}}
    local new = graph{new_b = {A}, new_a = {B}, same = {A, 1}, class = {B},
                      arg = {A, {2}}, tuned = {Tuned, 2}}
    local p = make(old, new)
    assert.same({"new_a", "new_b"}, p.start)
    assert.same({"also_gone", "gone"}, p.stop)
    assert.same({"arg", "class"}, p.restart)
    assert.same({"tuned"}, p.reconfig)
  end)

  it("restarts an app of another class though that could reconfigure", function ()
    local p = make(graph{a = {A, 1}}, graph{a = {Tuned, 2}})
    assert.same({"a"}, p.restart)
    assert.same({}, p.reconfig)
  end)

  it("lists links that go and come", function ()
    local apps = {a = {A}, b = {A}}
    local p = make(graph(apps, {"a.x -> b.x", "a.y -> b.y"}),
      graph(apps, {"a.y -> b.y", "a.z -> b.x"}))
    assert.same({"a.x -> b.x"}, p.old_links)
    assert.same({"a.z -> b.x"}, p.new_links)
  end)

  it("changes neither configuration", function ()
    local old = graph({a = {A, {1}}}, {})
    local new = graph({a = {A, {2}}, b = {B}}, {"a.x -> b.y"})
    make(old, new)
    assert.same(graph({a = {A, {1}}}, {}), old)
    assert.same(graph({a = {A, {2}}, b = {B}}, {"a.x -> b.y"}), new)
  end)
end)

describe("a configuration is refused", function ()
  it("when a link begins or ends at no app", function ()
    assert.equal("link 'a.x -> c.y': there is no app 'c'; the apps are: a, b",
      refused(graph({a = {A}, b = {A}}, {"a.x -> c.y"})))
    assert.matches("there is no app 'z'", refused(graph({a = {A}}, {"z.x -> a.y"})))
  end)

  it("when two links share an end", function ()
    assert.equal("links 'a.x -> b.y' and 'a.z -> b.y' share input 'y' of app 'b': "
      .. "one link each",
      refused(graph({a = {A}, b = {A}}, {"a.x -> b.y", "a.z -> b.y"})))
    assert.matches("share output 'x' of app 'a'",
      refused(graph({a = {A}, b = {A}}, {"a.x -> b.y", "a.x -> b.z"})))
  end)

  it("when an app has no link of that name", function ()
    local Named = {new = A.new, link_names = {
      input = {input = "input", rx = "input"}, output = {}}}
    assert.equal("link 'a.x -> n.foo': app 'n' has no input 'foo'; it has input, rx",
      refused(graph({a = {A}, n = {Named}}, {"a.x -> n.foo"})))
    assert.matches("app 'n' has no output 'x'; it has none",
      refused(graph({a = {A}, n = {Named}}, {"n.x -> a.x"})))
    assert.matches("share input 'input' of app 'n'",
      refused(graph({a = {A}, n = {Named}}, {"a.x -> n.input", "a.y -> n.rx"})))
    make(config.new(), graph({a = {A}, n = {Named}}, {"a.x -> n.rx"}))
  end)

  it("when the class refuses the argument", function ()
    local Picky = {new = A.new, check_arg = function (arg)
      if arg ~= 5 then failure.usage("5 was wanted, not '%s'", tostring(arg)) end
    end}
    assert.equal("app 'p': 5 was wanted, not '4'", refused(graph{p = {Picky, 4}}))
    make(config.new(), graph{p = {Picky, 5}})
  end)

  it("when two apps claim the same, or a part of it", function ()
    assert.equal("apps 'a' and 'b' both use file x: one app each",
      refused(graph{a = {Claiming, "file x"}, b = {Claiming, "file x"}}))
    assert.matches("^apps 'a' and 'b' both use ",
      refused(graph{a = {Claiming, "eth0/queue 1"}, b = {Claiming, "eth0"}}))
    local p = make(config.new(), graph{
      a = {Claiming, "eth0/queue 1"}, b = {Claiming, "eth0/queue 10"},
      c = {Claiming, "eth01"}, d = {Claiming}})
    assert.same({a = "eth0/queue 1", b = "eth0/queue 10", c = "eth01"}, p.claims)
  end)

  it("keeps what the class found out of the argument for its new()", function ()
    local Looking = {new = A.new, check_arg = function (arg) return nil, arg .. "!" end}
    local p = make(config.new(), graph{a = {Looking, "a"}, b = {A}})
    assert.same({a = "a!"}, p.found)
  end)

  it("asks running apps that stay nothing again, unless they are forced", function ()
    local down = false
    local Picky = {new = A.new, check_arg = function (arg)
      if down then failure.usage("'%s' is down", arg) end
      return "thing " .. arg
    end}
    local old = graph{p = {Picky, "x"}}
    local known = plan.check(old)
    down = true
    local function make_known(new, forced)
      return plan.make(old, new, {p = Picky}, forced, known)
    end
    assert.same({p = "thing x"}, make_known(graph{p = {Picky, "x"}, a = {A}}).claims)
    assert.same({"p"}, make_known(graph{}).stop)
    for what, forced in pairs{restart = {p = "restart"}, argument = {}} do
      local arg = what == "argument" and "y" or "x"
      local ok, err = pcall(make_known, graph{p = {Picky, arg}}, forced)
      assert.same({false, ("app 'p': '%s' is down"):format(arg)}, {ok, tostring(err)})
    end
  end)
end)
