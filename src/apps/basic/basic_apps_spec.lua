-- SPDX-License-Identifier: Apache-2.0

local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")
local testing = require("testing.support")

-- The app of `class` with these input and output names, linked to apps that do
-- nothing, so that links can be filled and looked at by hand.
local Idle = {new = function () return {} end}

local function setup(class, arg, inputs, outputs)
  local c = config.new()
  config.app(c, "app", class, arg)
  config.app(c, "ends", Idle)
  for _, name in ipairs(inputs) do
    config.link(c, "ends." .. name .. "->app." .. name)
  end
  for _, name in ipairs(outputs) do
    config.link(c, "app." .. name .. "->ends." .. name)
  end
  engine.configure(c)
  return engine.app_table.app
end

local function feed(app, input, lengths)
  for _, length in ipairs(lengths) do
    local p = packet.resize(packet.allocate(), length)
    link.transmit(app.input[input], p)
  end
end

-- The lengths of the packets on an output, which is emptied.
local function taken(app, output)
  local lengths, l = {}, app.output[output]
  while not link.empty(l) do
    local p = link.receive(l)
    lengths[#lengths + 1] = p.length
    packet.free(p)
  end
  return lengths
end

local function range(from, to)
  local list = {}
  for i = from, to do list[#list + 1] = i end
  return list
end

local function freed(f, ...)
  local before = pool.freelist.frees
  f(...)
  return tonumber(pool.freelist.frees - before)
end

after_each(function () engine.configure(config.new()) end)

describe("Source", function ()
  it("sends pull_npackets of 60 zero bytes to each output #slow", function ()
    local app = setup(basic.Source, nil, {}, {"a", "b"})
    app:pull()
    assert.equal(102, link.nreadable(app.output.a))
    local p = link.front(app.output.b)
    assert.equal(("\0"):rep(60), ffi.string(p.data, p.length))
    assert.equal(102, #taken(app, "b"))
  end)

  it("sends the size it is given", function ()
    for _, size in ipairs{0, 1, 1514, 10240, "200"} do
      local app = setup(basic.Source, size, {}, {"a"})
      app:pull()
      assert.equal(tonumber(size), taken(app, "a")[102])
    end
  end)

  it("refuses sizes that can't be", function ()
    for _, size in ipairs{-1, 10241, 1.5, "x", {}} do
      local ok, err = pcall(setup, basic.Source, size, {}, {})
      assert.is_false(ok)
      assert.matches("^app 'app': Source: its packet size is a whole number from "
        .. "0 to 10240, not '", tostring(err))
    end
  end)

  it("drops what a full link has no room for", function ()
    local app = setup(basic.Source, nil, {}, {"a"})
    assert.equal(99, freed(function () for _ = 1, 11 do app:pull() end end))
    assert.equal(1023, link.nreadable(app.output.a))
    assert.equal(99, link.stats(app.output.a).txdrop)
  end)
end)

describe("Join", function ()
  it("moves every input to output, in order", function ()
    local app = setup(basic.Join, nil, {"a", "b", "c"}, {"output"})
    feed(app, "c", {30, 31})
    feed(app, "a", {10, 11, 12})
    app:push()
    assert.same({10, 11, 12, 30, 31}, taken(app, "output"))
  end)

  it("drops by name what output has no room for", function ()
    local app = setup(basic.Join, nil, {"a", "b"}, {"output"})
    feed(app, "a", range(1, 1000))
    feed(app, "b", range(1, 1000))
    assert.equal(977, freed(app.push, app))
    assert.equal(977, link.stats(app.output.output).txdrop)
  end)
end)

describe("Split", function ()
  it("fills the first output, then the next", function ()
    local app = setup(basic.Split, nil, {"a", "b", "c"}, {"x", "y"})
    feed(app, "a", range(1, 1000))
    feed(app, "b", range(1, 500))
    app:push()
    local x, y = taken(app, "x"), taken(app, "y")
    assert.same(range(1, 1000), {unpack(x, 1, 1000)})
    assert.equal(1023, #x)
    assert.same(range(24, 500), y)
  end)

  it("drops by name what no output has room for", function ()
    local app = setup(basic.Split, nil, {"a", "b", "c"}, {"x", "y"})
    for _, input in ipairs{"a", "b", "c"} do feed(app, input, range(1, 1000)) end
    assert.equal(3000 - 2046, freed(app.push, app))
    assert.equal(954, link.stats(app.output.y).txdrop)
    assert.is_true(link.empty(app.input.c))
  end)
end)

describe("Sink", function ()
  it("frees what comes on any input", function ()
    local app = setup(basic.Sink, nil, {"a", "any"}, {})
    feed(app, "a", range(60, 99))
    feed(app, "any", {0, 10240})
    assert.equal(42, freed(app.push, app))
    assert.is_true(link.empty(app.input.a) and link.empty(app.input.any))
  end)
end)

describe("Tee", function ()
  it("sends every packet to all outputs, copies that share no bytes", function ()
    local app = setup(basic.Tee, nil, {"a", "b"}, {"x", "y", "z"})
    feed(app, "a", {1, 2})
    feed(app, "b", {3})
    app:push()
    local p, q = link.front(app.output.x), link.front(app.output.z)
    assert.not_equal(p.data, q.data)
    for _, output in ipairs{"x", "y", "z"} do
      assert.same({1, 2, 3}, taken(app, output))
    end
  end)

  it("goes on with the others when one output is full", function ()
    local app = setup(basic.Tee, nil, {"a"}, {"x", "y"})
    for _ = 1, 1023 do link.transmit(app.output.y, packet.allocate()) end
    feed(app, "a", {7, 8})
    assert.equal(2, freed(app.push, app))
    assert.same({7, 8}, taken(app, "x"))
    assert.equal(2, link.stats(app.output.y).txdrop)
  end)
end)

describe("Repeater", function ()
  it("sends copies of all it has seen, over and over", function ()
    local app = setup(basic.Repeater, nil, {"input"}, {"output"})
    app:push()
    assert.same({}, taken(app, "output"))
    feed(app, "input", {5, 6, 7})
    app:push()
    local lengths = taken(app, "output")
    assert.equal(102, #lengths)
    for i, length in ipairs(lengths) do assert.equal(5 + (i - 1) % 3, length) end
    feed(app, "input", {8})
    app:push()
    assert.same({5, 6, 7, 8, 5, 6}, {unpack(taken(app, "output"), 1, 6)})
  end)

  it("gives back what it has kept when it stops", function ()
    local app = setup(basic.Repeater, nil, {"input"}, {"output"})
    feed(app, "input", range(1, 50))
    app:push()
    taken(app, "output")
    assert.equal(50, freed(engine.configure, config.new()))
  end)
end)

describe("Truncate", function ()
  it("cuts, and fills with zeros", function ()
    local app = setup(basic.Truncate, 4, {"input"}, {"output"})
    testing.send(app.input.input, {"abcdefgh", "ab", "abcd", ""})
    engine.breathe()
    assert.same({"abcd", "ab\0\0", "abcd", "\0\0\0\0"},
      testing.take(app.output.output))
  end)

  it("needs a length from 0 to 10240", function ()
    for _, n in ipairs{-1, 10241, "x", 0.5} do
      local ok, err = pcall(setup, basic.Truncate, n, {}, {})
      assert.is_false(ok)
      assert.matches("Truncate: its length is a whole number", tostring(err))
    end
    local ok, err = pcall(setup, basic.Truncate, nil, {}, {})
    assert.is_false(ok)
    assert.matches("not 'nil'", tostring(err))
  end)
end)

describe("Sample", function ()
  it("passes every nth packet, bursts or not", function ()
    local app = setup(basic.Sample, 3, {"input"}, {"output"})
    feed(app, "input", range(1, 5))
    engine.breathe()
    feed(app, "input", range(6, 13))
    assert.equal(5, freed(engine.breathe))
    assert.same({3, 6, 9, 12}, taken(app, "output"))
  end)

  it("counts the others as drops", function ()
    local app = setup(basic.Sample, 3, {"input"}, {"output"})
    feed(app, "input", range(1, 10))
    engine.breathe()
    engine.report{}
    assert.same({["not sampled"] = 7}, drops.of(app))
  end)

  it("passes all with 1 and needs a number from 1 on", function ()
    local app = setup(basic.Sample, 1, {"input"}, {"output"})
    feed(app, "input", range(1, 5))
    engine.breathe()
    assert.same(range(1, 5), taken(app, "output"))
    for _, n in ipairs{0, -1, "x", 1.5} do
      assert.is_false(pcall(setup, basic.Sample, n, {}, {}))
    end
  end)
end)

describe("without outputs", function ()
  for name, arg in pairs{Join = false, Split = false, Tee = false, Repeater = false,
                         Truncate = 60, Sample = 2} do
    it(name .. " keeps none of the packets but a Repeater's", function ()
      local app = setup(basic[name], arg or nil, {"input"}, {})
      feed(app, "input", range(1, 10))
      assert.equal(name == "Repeater" and 0 or 10, freed(engine.breathe))
      assert.is_true(link.empty(app.input.input))
    end)
  end

  it("Source does nothing", function ()
    assert.equal(0, freed(function () setup(basic.Source, nil, {}, {}):pull() end))
  end)
end)

describe("links of other names", function ()
  it("may leave Join, which sends nothing there", function ()
    local app = setup(basic.Join, nil, {"a"}, {"output", "out"})
    link.transmit(app.input.a, packet.from_string("x"))
    app:push()
    assert.equal(1, link.nreadable(app.output.output))
    assert.equal(0, link.nreadable(app.output.out))
  end)

  it("are refused where the app would not look at them", function ()
    for _, case in ipairs{
      {"Truncate", 60, "in", "output"}, {"Sample", 1, "input", "out"},
      {"Repeater", nil, "rx", "output"},
    } do
      local ok, err = pcall(setup, basic[case[1]], case[2], {case[3]}, {case[4]})
      assert.is_false(ok)
      assert.matches("app 'app' has no %a+put '%a+'; it has %a+put", tostring(err))
    end
  end)
end)
