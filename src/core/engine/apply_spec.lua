-- SPDX-License-Identifier: Apache-2.0
-- Reconfiguring the engine: which callbacks, in which order; what becomes of
-- packets; and that whatever fails, the graph that runs is a whole one.

local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")
local testing = require("testing.support")

local EVERYTHING = {"stop", "link", "unlink", "reconfig", "pull", "push"}

-- A configuration of {NAME = {CLASS, ARG}} and a list of links.
local function graph(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, app[1], app[2]) end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  return c
end

local function refused(c)
  local ok, err = pcall(engine.configure, c)
  assert.is_false(ok)
  return tostring(err)
end

local function breathe()
  engine.breathe()
end

local log, Noted
before_each(function ()
  log = {}
  Noted = testing.noting_class(log, EVERYTHING)
end)
after_each(function () engine.configure(config.new()) end)

-- What was noted since the last call.
local function noted()
  local copy = {}
  for i = #log, 1, -1 do copy[i], log[i] = log[i], nil end
  return copy
end

local function without_reconfig(class)
  return setmetatable({reconfig = false}, {__index = class})
end

describe("configure", function ()
  it("makes apps, then links them: output end first", function ()
    engine.configure(graph({a = {Noted, "a"}, b = {Noted, "b"}}, {"b.x -> a.y"}))
    assert.same({"a new", "b new", "b link output x", "a link input y"}, noted())
    local l = engine.link_table["b.x -> a.y"]
    local a, b = engine.app_table.a, engine.app_table.b
    assert.equal(l, a.input.y)
    assert.equal(l, a.input[1])
    assert.equal(l, b.output.x)
    assert.same({}, b.input)
    assert.equal("a", a.appname)
  end)

  it("lets an app add to its push_link, which is its own", function ()
    local Each = {push_link = {}}
    function Each:new(name)
      return setmetatable({name = name}, {__index = Each})
    end
    function Each:link(direction, port)
      local name = self.name
      if direction == "input" then
        self.push_link[port] = function () log[#log + 1] = name .. " push " .. port end
      end
    end
    engine.configure(graph({s = {Noted, "s"}, a = {Each, "a"}, b = {Each, "b"}},
      {"s.x -> a.in", "s.y -> b.in"}))
    noted()
    breathe()
    assert.same({"s pull", "a push in", "b push in"}, noted())
    assert.is_nil(next(Each.push_link))
  end)

  it("does nothing for the same again", function ()
    local c = graph({a = {Noted, "a"}, b = {Noted, "b"}}, {"b.x -> a.y"})
    engine.configure(c)
    noted()
    engine.configure(c)
    assert.same({}, noted())
  end)

  it("unlinks, stops, starts, links", function ()
    engine.configure(graph({a = {Noted, "a"}, b = {Noted, "b"}}, {"a.x -> b.y"}))
    noted()
    engine.configure(graph({b = {Noted, "b"}, c = {Noted, "c"}}, {"c.x -> b.z"}))
    assert.same({"c new", "a unlink output x", "b unlink input y", "a stop",
                 "c link output x", "b link input z"}, noted())
    local b = engine.app_table.b
    assert.is_nil(b.input.y)
    assert.equal(1, #b.input)
    assert.equal(b.input.z, b.input[1])
    assert.is_nil(engine.app_table.a)
    assert.is_nil(engine.link_table["a.x -> b.y"])
  end)

  it("calls link() of an app without unlink() when a link goes", function ()
    local Old = testing.noting_class(log, {"link"})
    engine.configure(graph({a = {Old, "a"}, b = {Old, "b"}}, {"a.x -> b.y"}))
    noted()
    engine.configure(graph{a = {Old, "a"}, b = {Old, "b"}})
    assert.same({"a link output x", "b link input y"}, noted())
  end)

  it("reconfigures an app with its new argument", function ()
    local seen
    local Tuned = setmetatable({reconfig = function (_, arg) seen = arg end},
      {__index = Noted})
    Tuned.new = function (_, arg)
      return setmetatable({name = arg.name}, {__index = Tuned})
    end
    engine.configure(graph{a = {Tuned, {name = "a", n = 1}}})
    local a = engine.app_table.a
    engine.configure(graph{a = {Tuned, {name = "a", n = 2}}})
    assert.equal(a, engine.app_table.a)
    assert.same({name = "a", n = 2}, seen)
    assert.same({name = "a", n = 2}, engine.configuration.apps.a.arg)
  end)

  it("restarts an app that can't, and keeps its links with their packets", function ()
    local Fixed = without_reconfig(Noted)
    local links = {"a.x -> b.y"}
    engine.configure(graph({a = {Noted, "a"}, b = {Fixed, {name = "b"}}}, links))
    local b, l = engine.app_table.b, engine.link_table["a.x -> b.y"]
    for i = 1, 7 do link.transmit(l, packet.from_string(("x"):rep(i))) end
    noted()
    engine.configure(graph({a = {Noted, "a"}, b = {Fixed, {name = "b", n = 2}}}, links))
    assert.same({"b stop", "b new", "b link input y"}, noted())
    local again = engine.app_table.b
    assert.not_equal(b, again)
    assert.equal(l, again.input.y)
    assert.equal(1, #again.input)
    assert.equal(7, link.nreadable(l))
    assert.equal(1, link.front(l).length)
    breathe()
    assert.same({"a pull", "b pull", "b push"}, noted())
  end)

  it("frees the packets of links that go, and counts them", function ()
    engine.configure(graph({a = {Noted, "a"}, b = {Noted, "b"}},
      {"a.x -> b.x", "a.y -> b.y"}))
    for _, l in pairs(engine.link_table) do
      for _ = 1, 5 do link.transmit(l, packet.from_string("12345678")) end
    end
    local frees, bytes = pool.freelist.frees, pool.freelist.freebytes
    engine.configure(graph({a = {Noted, "a"}, b = {Noted, "b"}}, {"a.x -> b.x"}))
    assert.equal(5, tonumber(pool.freelist.frees - frees))
    assert.equal(40, tonumber(pool.freelist.freebytes - bytes))
    assert.equal(5, link.nreadable(engine.link_table["a.x -> b.x"]))
  end)

  it("isn't troubled by later changes of the configuration it got", function ()
    local c = graph({a = {Noted, "a"}}, {})
    engine.configure(c)
    config.app(c, "b", Noted, "b")
    config.link(c, "a.x -> b.y")
    noted()
    engine.configure(c)
    assert.same({"b new", "a link output x", "b link input y"}, noted())
  end)
end)

describe("a configuration that fails", function ()
  local Broken = {new = function () error("no luck") end}
  local kept = {"a.x -> b.y"}

  local function running()
    return graph({a = {Noted, "a"}, b = {Noted, "b"}}, kept)
  end

  -- Is that graph whole, with the same link and its packets, and breathing?
  local function assert_running(l)
    assert.equal(l, engine.link_table["a.x -> b.y"])
    assert.equal(l, engine.app_table.a.output.x)
    assert.equal(l, engine.app_table.b.input.y)
    assert.equal(1, #engine.app_table.b.input)
    assert.equal(3, link.nreadable(l))
    noted()
    breathe()
    assert.same({"a pull", "b pull", "b push"}, noted())
    for name, app in pairs(engine.app_table) do
      assert.is_nil(app.is_stopped, name)
    end
  end

  before_each(function ()
    Noted.stop = function (self)
      log[#log + 1] = self.name .. " stop"
      self.is_stopped = true
    end
    Noted.push = function (self)
      assert.is_nil(self.is_stopped, "a stopped app was called")
      log[#log + 1] = self.name .. " push"
    end
    engine.configure(running())
    for _ = 1, 3 do
      link.transmit(engine.link_table["a.x -> b.y"], packet.from_string("abc"))
    end
    noted()
  end)

  it("by its shape changes nothing", function ()
    local l = engine.link_table["a.x -> b.y"]
    local c = graph({a = {Noted, "a"}}, {"a.x -> nowhere.y"})
    assert.matches("there is no app 'nowhere'", refused(c))
    assert.same({}, noted())
    assert_running(l)
  end)

  it("by a new app stops those started with it", function ()
    local l = engine.link_table["a.x -> b.y"]
    local c = graph({a = {Noted, "a"}, c = {Noted, "c"}, d = {Broken}})
    assert.matches("^app 'd': .*no luck", refused(c))
    assert.same({"c new", "c stop"}, noted())
    assert_running(l)
  end)

  it("by an app that returns no app says so", function ()
    local l = engine.link_table["a.x -> b.y"]
    for value, what in pairs{[5] = "a number", [false] = "a boolean"} do
      local c = running()
      config.app(c, "n", {new = function () return value end})
      assert.equal(("app 'n': its class's new() returned %s, not an app"):format(what),
        refused(c))
    end
    assert_running(l)
  end)

  it("by a restart starts the old app again", function ()
    local l = engine.link_table["a.x -> b.y"]
    local c = graph({a = {Noted, "a"}, b = {Broken}, c = {Noted, "c"}}, kept)
    assert.matches("^app 'b': .*no luck", refused(c))
    assert.same({"c new", "b stop", "c stop", "b new", "b link input y"}, noted())
    assert_running(l)
  end)

  it("by a reconfig() gives all their old arguments back", function ()
    local l = engine.link_table["a.x -> b.y"]
    local args = {}
    local Tuned = {new = function (class, arg)
      return setmetatable({arg = arg}, {__index = class})
    end}
    function Tuned:reconfig(arg)
      args[#args + 1] = arg
      if arg == "bad" then error("won't do") end
      self.arg = arg
    end
    local c = running()
    config.app(c, "t1", Tuned, "one")
    config.app(c, "t2", Tuned, "two")
    engine.configure(c)
    config.app(c, "t1", Tuned, "three")
    config.app(c, "t2", Tuned, "bad")
    assert.matches("^app 't2': .*won't do", refused(c))
    assert.same({"three", "bad", "two", "one"}, args)
    assert.equal("one", engine.app_table.t1.arg)
    assert.equal("one", engine.configuration.apps.t1.arg)
    engine.configure(running())
    assert_running(l)
  end)

  it("by an app's stop() still stops and starts the rest", function ()
    local Stuck = setmetatable({stop = function () error("stuck") end},
      {__index = Noted})
    Stuck.new = function () return setmetatable({name = "s"}, {__index = Stuck}) end
    local c = running()
    config.app(c, "s", Stuck)
    config.link(c, "b.x -> s.y")
    engine.configure(c)
    noted()
    assert.matches("app 's': .*stuck", refused(graph{z = {Noted, "z"}}))
    assert.same({"z new", "a unlink output x", "b unlink input y",
                 "b unlink output x", "s unlink input y", "a stop", "b stop"}, noted())
    assert.is_nil(engine.app_table.s)
    assert.is_nil(next(engine.link_table))
    assert.is_table(engine.app_table.z)
    engine.configure(running())
    assert.equal("a", engine.app_table.a.appname)
  end)

  it("by link() or unlink() is carried out and told", function ()
    local Shy = setmetatable({}, {__index = Noted})
    Shy.new = function () return setmetatable({name = "s"}, {__index = Shy}) end
    Shy.link = function () error("no links please") end
    Shy.unlink = function () error("I liked it") end
    local c = running()
    config.app(c, "s", Shy)
    config.link(c, "b.x -> s.y")
    assert.matches("^app 's': in link%(%): .*no links please", refused(c))
    assert.is_not_nil(engine.app_table.s.input.y)
    breathe()
    local again = running()
    config.app(again, "s", Shy)
    assert.matches("^app 's': in unlink%(%): .*I liked it", refused(again))
    assert.is_nil(engine.link_table["b.x -> s.y"])
    engine.configure(running())
    assert.is_nil(engine.app_table.s)
  end)

  it("takes an app out that doesn't start again", function ()
    local starts = 0
    local Once = setmetatable({reconfig = false}, {__index = Noted})
    Once.new = function ()
      starts = starts + 1
      if starts > 1 then error("only once") end
      return setmetatable({name = "o"}, {__index = Once})
    end
    local c = running()
    config.app(c, "o", Once, 1)
    config.link(c, "b.x -> o.y")
    engine.configure(c)
    local l = engine.link_table["a.x -> b.y"]
    link.transmit(engine.link_table["b.x -> o.y"], packet.from_string("lost"))
    local frees = pool.freelist.frees
    config.app(c, "o", Once, 2)
    assert.matches("^app 'o': .*only once.*; and app 'o', stopped for it, "
      .. "doesn't start again and is removed", refused(c))
    assert.is_nil(engine.app_table.o)
    assert.is_nil(engine.link_table["b.x -> o.y"])
    assert.is_nil(engine.configuration.apps.o)
    assert.equal(1, tonumber(pool.freelist.frees - frees))
    assert_running(l)
    engine.configure(running())
  end)

  it("leaves no counters behind when its frame can't be made", function ()
    local l = engine.link_table["a.x -> b.y"]
    local Framed = setmetatable({}, {__index = Noted})
    Framed.new = function ()
      return setmetatable({name = "f", shm = {path = {require("core.counter")}}},
        {__index = Framed})
    end
    local c = running()
    config.app(c, "f", Framed)
    assert.matches("app 'f': .*can't be called 'path'", refused(c))
    assert.same({"f stop"}, noted())
    assert_running(l)
  end)
end)

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

  it("is let go wholly after random changes", function ()
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
