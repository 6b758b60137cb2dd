-- SPDX-License-Identifier: Apache-2.0
-- Reconfiguring the engine: which callbacks, in which order; what becomes of packets.

local changes = require("testing.changes")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")
local testing = require("testing.support")

local graph = changes.graph

local Noted, noted, log
before_each(function () Noted, noted, log = changes.noting() end)
after_each(function () engine.configure(config.new()) end)

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
    engine.breathe()
    assert.same({"s pull", "b push in", "a push in"}, noted())
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
    engine.breathe()
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
