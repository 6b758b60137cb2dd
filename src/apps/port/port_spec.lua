-- SPDX-License-Identifier: Apache-2.0
-- The Port app: null ports, rings, and driver apps made of it.

local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local pool = require("core.pool")
local port = require("apps.port.port")
local ports = require("testing.ports")
local testing = require("testing.support")

local Port = port.Port
local send, take = testing.send, testing.take
local Idle, configure, frames = ports.Idle, ports.configure, ports.frames
local refused = ports.refused

after_each(ports.clean_up)

describe("the null port", function ()
  it("receives packets of its size, and counts what it sends", function ()
    local app = configure({nic = {Port, "null:size=123"}, e = {Idle}},
      {"nic.output -> e.x", "e.y -> nic.input"}).nic
    local received, sent = pool.freelist.received, pool.freelist.sent
    app:pull()
    local l = app.output.output
    assert.equal(256, link.nreadable(l))
    assert.equal(256, tonumber(pool.freelist.received - received))
    assert.equal(123, #take(l)[256])
    send(app.input.input, frames(1, 7))
    app:push()
    assert.is_true(link.empty(app.input.input))
    assert.equal(7, tonumber(pool.freelist.sent - sent))
    local stats = app:statistics()
    assert.equal(256, stats.ipackets)
    assert.equal(7, stats.opackets)
    assert.is_false(app:ended())
  end)

  it("sends from a link that is put in by hand", function ()
    local app = configure({nic = {Port, "null"}}).nic
    local sent = pool.freelist.sent
    app:push() -- without any
    local l = link.new("by_hand")
    send(l, frames(1, 3))
    app.input.rx = l
    app:push()
    assert.is_true(link.empty(l))
    assert.equal(3, tonumber(pool.freelist.sent - sent))
    link.free(l, "by_hand")
  end)

  it("receives no more than the link has room for", function ()
    local app = configure({nic = {Port, "null"}, e = {Idle}}, {"nic.output -> e.x"}).nic
    for _ = 1, 10 do app:pull() end
    local l = app.output.output
    assert.is_true(link.nreadable(l) > 1023 - 32 and link.nreadable(l) <= 1023)
    assert.equal(link.nreadable(l), app:statistics().ipackets)
    assert.equal(0, link.stats(l).txdrop)
  end)

  it("keeps the rings' order wherever their cursors wrap", function ()
    local app = configure({nic = {Port, "null"}, e = {Idle}},
      {"nic.output -> e.x", "e.y -> nic.input"}).nic
    for _, start in ipairs{2 ^ 31 - 100, 2 ^ 32 - 100, 1000} do
      for _, l in ipairs{app.output.output, app.input.input} do
        l.read, l.write, l.limit = start, bit.tobit(start), bit.tobit(start)
      end
      app:pull()
      assert.equal(256, #take(app.output.output))
      local before = app:statistics().opackets
      send(app.input.input, frames(1, 300))
      app:push()
      assert.is_true(link.empty(app.input.input))
      assert.equal(300, app:statistics().opackets - before)
      assert.equal(start + 300, tonumber(app.input.input.read))
    end
  end)
end)

describe("a ring", function ()
  it("carries packets both ways, unchanged and in order", function ()
    local apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"e.a -> a.input", "e.b -> b.input", "a.output -> e.c", "b.output -> e.d"})
    local there, back = frames(0, 99), frames(200, 220)
    send(apps.a.input.input, there)
    send(apps.b.input.input, back)
    engine.breathe()
    engine.breathe()
    assert.same(there, take(apps.b.output.output))
    assert.same(back, take(apps.a.output.output))
  end)

  it("keeps in the link what doesn't fit, and loses nothing", function ()
    local apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"e.a -> a.input", "b.output -> e.d"})
    local all = {}
    for round = 1, 3 do
      local list = frames(round, round + 500)
      for _, text in ipairs(list) do all[#all + 1] = text end
      send(apps.a.input.input, list)
      apps.a:push()
    end
    assert.is_true(link.nreadable(apps.a.input.input) > 0)
    local got = {}
    for _ = 1, 20 do
      apps.b:pull()
      for _, text in ipairs(take(apps.b.output.output)) do got[#got + 1] = text end
      apps.a:push()
    end
    assert.same(all, got)
  end)

  it("has two ends", function ()
    assert.matches("app 'c': port 'ring:x': both ends of this ring are in use",
      refused{a = {Port, "ring:x"}, b = {Port, "ring:x"}, c = {Port, "ring:x"}})
    configure{a = {Port, "ring:x"}, b = {Port, "ring:x"}}
  end)

  it("has a name of up to 20 characters", function ()
    local name = "ring:abcdefghijklmnopqrs"
    for _, last in ipairs{"t", "u"} do
      local apps = configure({a = {Port, name .. last}, b = {Port, name .. last},
        e = {Idle}}, {"e.a -> a.input", "b.output -> e.d"})
      send(apps.a.input.input, frames(1, 50))
      engine.breathe()
      engine.breathe()
      assert.same(frames(1, 50), take(apps.b.output.output))
    end
  end)

  it("is empty when both ends have been unplugged", function ()
    local apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"e.a -> a.input"})
    send(apps.a.input.input, frames(1, 50))
    apps.a:push()
    engine.configure(config.new())
    apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"a.output -> e.a", "b.output -> e.b"})
    apps.a:pull()
    apps.b:pull()
    assert.same({}, take(apps.a.output.output))
    assert.same({}, take(apps.b.output.output))
  end)
end)

describe("an alias", function ()
  local Card = port.alias{
    name = "Card",
    config = {pciaddr = {required = true}, size = {default = 64}},
    port = function (arg) return arg.pciaddr .. ":size=" .. arg.size end,
  }

  it("is a Port whose argument is its own", function ()
    local nic = configure{nic = {Card, {pciaddr = "null"}}}.nic
    assert.equal("null:size=64", nic.description.text)
    assert.equal(Port.statistics, nic.statistics)
    assert.matches("^failed to configure 'nic': .*pciaddr", refused{nic = {Card, {}}})
    assert.matches("^failed to configure 'nic': .*mtu",
      refused{nic = {Card, {pciaddr = "null", mtu = 1}}})
    assert.matches("app 'nic' has no input 'x'",
      refused({nic = {Card, {pciaddr = "null"}}, e = {Idle}}, {"e.x -> nic.x"}))
  end)

  it("restarts with another argument", function ()
    local first = configure{nic = {Card, {pciaddr = "null"}}}.nic
    local second = configure{nic = {Card, {pciaddr = "null", size = 99}}}.nic
    assert.not_equal(first, second)
    assert.equal("null:size=99", second.description.text)
  end)
end)
