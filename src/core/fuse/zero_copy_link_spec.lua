-- SPDX-License-Identifier: Apache-2.0

local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port
local texts = require("testing.texts")

local held, run, send, take = texts.held, texts.run, texts.send, texts.take
local totals = texts.totals

local function class(fields)
  fields.new = function () return setmetatable({}, {__index = fields}) end
  return fields
end

local Idle = class{}
local Pass = class{process = function (_, p) return p end}
local Bulk = class{process_burst = function () end}
-- Packets that begin with "d" are dropped, with "b" they take the second output.
local Split = class{outputs = {"a", "b"}, drops = {"d"},
  process_burst = function (_, packets, n, route)
    for i = 0, n - 1 do
      local first = packets[i].data[0]
      route[i] = first == 100 and -1 or first == 98 and 2 or 1
    end
  end}

describe("handing over", function ()
  after_each(function ()
    engine.fuse = true
    engine.configure(config.new())
  end)

  local function direct(spec) return engine.link_table[spec].direct == 1 end

  -- Was the ring left alone? What it holds was never written.
  local function untouched(spec)
    local l = engine.link_table[spec]
    for i = 0, link.max do
      if l.packets[i] ~= nil then return false end
    end
    return true
  end

  local CHAIN = {"in.x -> r.input", "r.output -> bulk.input", "bulk.output -> s.input",
                 "s.output -> out.x"}

  local function chain(middle)
    run({["in"] = {Idle}, r = {Pass}, bulk = {middle or Bulk}, s = {Pass},
         out = {Idle}}, CHAIN)
  end

  it("is between regions and bulk apps, and no others", function ()
    chain()
    local found = {}
    for i, spec in ipairs(CHAIN) do found[i] = direct(spec) end
    assert.same({false, true, true, false}, found)
    engine.fuse = false
    chain()
    for _, spec in ipairs(CHAIN) do assert.is_false(direct(spec)) end
    engine.fuse = true
    chain(basic.Join)
    for _, spec in ipairs(CHAIN) do assert.is_false(direct(spec)) end
  end)

  it("passes packets in order, past the rings, and counts them", function ()
    chain()
    local list, bytes = {}, 0
    for i = 1, 200 do
      list[i] = ("x"):rep(i)
      bytes = bytes + i
    end
    send(CHAIN[1], list)
    engine.breathe()
    assert.same(list, take(CHAIN[4]))
    for i = 1, 4 do assert.same({200, bytes, 200, bytes, 0}, totals(CHAIN[i])) end
    assert.is_true(untouched(CHAIN[2]))
    assert.is_true(untouched(CHAIN[3]))
    assert.is_false(untouched(CHAIN[4]))
  end)

  it("takes the rings for what is more than a burst", function ()
    chain()
    local list = {}
    for i = 1, 900 do list[i] = tostring(i) end
    send(CHAIN[1], list)
    engine.breathe()
    assert.same(list, take(CHAIN[4]))
    assert.is_false(untouched(CHAIN[2]))
  end)

  it("keeps lengths that a region and a bulk app have changed", function ()
    local Longer = class{process = function (_, p)
      return packet.append(p, "tail", 4)
    end}
    local Shorter = class{process_burst = function (_, packets, n)
      for i = 0, n - 1 do packet.resize(packets[i], 2) end
    end}
    run({["in"] = {Idle}, r = {Longer}, bulk = {Shorter}, s = {Pass},
         out = {Idle}}, CHAIN)
    send(CHAIN[1], {"abc", "d"})
    engine.breathe()
    assert.same({"ab", "dt"}, take(CHAIN[4]))
    assert.same({2, 12, 2, 12, 0}, totals(CHAIN[2]))
    assert.same({2, 4, 2, 4, 0}, totals(CHAIN[3]))
  end)

  it("sends a bulk app's packets their ways", function ()
    run({["in"] = {Idle}, r = {Pass}, bulk = {Split}, s = {Pass}, t = {Pass},
         out = {Idle}},
      {CHAIN[1], CHAIN[2], "bulk.a -> s.input", "bulk.b -> t.input",
       "s.output -> out.x", "t.output -> out.y"})
    local before = held()
    for round = 1, 3 do
      send(CHAIN[1], {"a1", "b1", "d1", "a2", "b2", "b3"})
      engine.breathe()
      assert.same({"a1", "a2"}, take("s.output -> out.x"))
      assert.same({"b1", "b2", "b3"}, take("t.output -> out.y"))
      assert.same({d = round}, engine.drops("bulk"))
    end
    assert.is_true(untouched("bulk.a -> s.input"))
    assert.is_true(untouched("bulk.b -> t.input"))
    assert.equal(before, held())
  end)

  it("goes from one bulk app to the next", function ()
    run({["in"] = {Idle}, b1 = {Bulk}, b2 = {Split}, b3 = {Bulk}, out = {Idle}},
      {"in.x -> b1.input", "b1.output -> b2.input", "b2.a -> b3.input",
       "b3.output -> out.x"})
    local list, expected = {}, {}
    for i = 1, 700 do
      list[i] = (i % 3 == 0 and "d" or "a") .. i
      if i % 3 > 0 then expected[#expected + 1] = list[i] end
    end
    send("in.x -> b1.input", list)
    engine.breathe()
    assert.same(expected, take("b3.output -> out.x"))
  end)

  it("does without where the taker is called before a giver", function ()
    run({["in"] = {Idle}, a = {Pass}, bulk = {Split}, out = {Idle}},
      {"in.x -> a.input", "a.output -> bulk.input", "bulk.b -> a.back",
       "bulk.a -> out.x"})
    local back, forth = direct("bulk.b -> a.back"), direct("a.output -> bulk.input")
    assert.is_false(back and forth)
    send("in.x -> a.input", {"a1", "b1", "a2"})
    engine.breathe()
    engine.breathe()
    assert.same({"a1", "a2"}, take("bulk.a -> out.x"))
    assert.equal(1, account.packets(engine.link_table).in_links) -- b1 goes round
  end)

  -- An app that is called between a region and the bulk app behind it raises an error.
  it("loses nothing when a breath is cut short", function ()
    finally(function () engine.lift = true end)
    engine.lift = false -- or it is in the region
    local failing = true
    local Bad = class{push = function (self)
      if failing then error("no") end
      while not link.empty(self.input.x) do packet.free(link.receive(self.input.x)) end
    end}
    local Two = class{outputs = {"output", "aside"}, process = function (_, p)
      return p, p.data[0] == 122 and 2 or 1
    end}
    run({["in"] = {Idle}, r = {Two}, worst = {Bad}, bulk = {Bulk}, s = {Pass},
         out = {Idle}},
      {CHAIN[1], "r.output -> bulk.input", "r.aside -> worst.x", CHAIN[3], CHAIN[4]})
    local calls = engine.calls().pushes
    local position = {}
    for i, call in ipairs(calls) do position[call.app] = i end
    local before = held()
    send(CHAIN[1], {"a", "z", "b"})
    assert.is_false(pcall(engine.breathe))
    assert.is_true(position.worst < position.bulk)
    assert.equal(2, link.nreadable(engine.link_table[CHAIN[2]]))
    assert.equal(before, held())
    send(CHAIN[1], {"c"})
    failing = false
    engine.breathe()
    assert.same({"a", "b", "c"}, take(CHAIN[4]))
    assert.same({3, 3, 3, 3, 0}, totals(CHAIN[2]))
    assert.equal(before, held())
  end)

  it("goes on where it was when a region behind a bulk app fails", function ()
    local Picky = class{process = function (_, p)
      if p.data[0] == 98 then
        packet.free(p)
        error("b")
      end
      return p
    end}
    run({["in"] = {Idle}, r = {Pass}, bulk = {Bulk}, s = {Picky}, out = {Idle}}, CHAIN)
    send(CHAIN[1], {"a", "b", "c", "d"})
    assert.has_error(engine.breathe)
    assert.same({"a"}, take(CHAIN[4]))
    engine.breathe()
    assert.same({"c", "d"}, take(CHAIN[4]))
    assert.same({4, 4, 4, 4, 0}, totals(CHAIN[3]))
  end)

  it("begins and ends with a reconfiguration, and loses nothing", function ()
    chain()
    send(CHAIN[1], {"a"})
    engine.breathe()
    local function region_with(name)
      for _, r in ipairs(engine.regions) do
        if r.description.apps[1] == name then return r end
      end
    end
    local before, behind = region_with("r"), region_with("s")
    chain(basic.Join)
    send(CHAIN[1], {"b"})
    engine.breathe()
    assert.is_false(rawequal(before, region_with("r"))) -- it needn't count bytes now
    assert.is_true(rawequal(behind, region_with("s")))
    chain()
    send(CHAIN[1], {"c"})
    engine.breathe()
    assert.same({"a", "b", "c"}, take(CHAIN[4]))
    assert.same({3, 3, 3, 3, 0}, totals(CHAIN[2]))
  end)
end)

describe("rounds of a breath", function ()
  after_each(function () engine.configure(config.new()) end)

  local function received(apps, links)
    run(apps, links)
    engine.breathe()
    return tonumber(engine.app_table.port.port.rxpackets)
  end

  local LINKS = {"port.output -> r.input", "r.output -> bulk.input",
                 "bulk.output -> s.input", "s.output -> port.input"}

  it("go on to four full bursts where only regions and bulk apps are", function ()
    assert.equal(4 * 256, received({port = {Port, "null"}, r = {Pass}, bulk = {Bulk},
                                    s = {Pass}}, LINKS))
    assert.equal(4, engine.calls().rounds)
  end)

  it("end with a burst that isn't full", function ()
    assert.equal(255, received({port = {Port, {port = "null", burst = 255}}, r = {Pass},
                                bulk = {Bulk}, s = {Pass}}, LINKS))
  end)

  it("are not, where an app of Snabb's form is called", function ()
    assert.equal(256, received({port = {Port, "null"}, r = {Pass}, bulk = {Bulk},
                                s = {basic.Sink}}, {LINKS[1], LINKS[2], LINKS[3]}))
    assert.equal(1, engine.calls().rounds)
  end)
end)
