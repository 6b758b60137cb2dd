-- SPDX-License-Identifier: Apache-2.0
-- Reconfiguring the engine: whatever fails, the graph that runs is a whole one.

local changes = require("testing.changes")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")

local graph = changes.graph
local refused = changes.refused

local Noted, noted, log
before_each(function () Noted, noted, log = changes.noting() end)
after_each(function () engine.configure(config.new()) end)

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
    engine.breathe()
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

  it("never lets a new app begin", function ()
    Noted.begin = function (self) log[#log + 1] = self.name .. " begin" end
    local l = engine.link_table["a.x -> b.y"]
    local c = graph({a = {Noted, "a"}, b = {Noted, "b"}, c = {Noted, "c"},
      d = {Broken}}, kept)
    assert.matches("^app 'd': .*no luck", refused(c))
    assert.same({"c new", "c stop"}, noted())
    config.app(c, "d", Noted, "d")
    engine.configure(c)
    assert.same({"c new", "d new", "c begin", "d begin"}, noted())
    engine.configure(running())
    assert_running(l)
  end)

  it("by a begin() is as it was", function ()
    local l = engine.link_table["a.x -> b.y"]
    local Tuned = setmetatable({}, {__index = Noted})
    Tuned.new = function (_, arg)
      return setmetatable({name = "t", arg = arg}, {__index = Tuned})
    end
    Tuned.reconfig = function (self, arg) self.arg = arg end
    local Late = setmetatable({}, {__index = Noted})
    Late.new = function () return setmetatable({name = "l"}, {__index = Late}) end
    Late.begin = function () error("no disk") end
    local c = running()
    config.app(c, "t", Tuned, "old")
    engine.configure(c)
    noted()
    config.app(c, "t", Tuned, "new")
    config.app(c, "b", Late)
    assert.matches("^app 'b': .*no disk", refused(c))
    assert.same({"b stop", "l stop", "b new", "b link input y"}, noted())
    assert.equal("old", engine.app_table.t.arg)
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
    engine.breathe()
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
