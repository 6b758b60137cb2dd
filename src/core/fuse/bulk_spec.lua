-- SPDX-License-Identifier: Apache-2.0

local account = require("core.engine.account")
local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")

local Idle = {new = function () return {} end}

-- Packets go where their first byte says: below 200 it is an output, or 0; 200 + k
-- is the drop number k, written as -k.
local function by_first_byte(_, packets, n, route)
  for i = 0, n - 1 do
    local code = packets[i].data[0]
    route[i] = code < 200 and code or 200 - code
  end
end

local function class(fields)
  fields.process_burst = fields.process_burst or by_first_byte
  fields.new = function () return setmetatable({}, {__index = fields}) end
  return fields
end

-- Run an app of the class between idle ones, its outputs `linked` (names).
local function run(kind, linked)
  local c = config.new()
  config.app(c, "in", Idle)
  config.app(c, "bulk", kind)
  config.app(c, "out", Idle)
  config.link(c, "in.x -> bulk.input")
  for _, name in ipairs(linked) do
    config.link(c, ("bulk.%s -> out.%s"):format(name, name))
  end
  engine.configure(c)
end

local function send(bytes)
  for _, byte in ipairs(bytes) do
    link.transmit(engine.link_table["in.x -> bulk.input"],
      packet.from_string(string.char(byte, 7)))
  end
  engine.breathe()
end

local function take(name)
  local l, bytes = engine.link_table[("bulk.%s -> out.%s"):format(name, name)], {}
  while not link.empty(l) do
    local p = link.receive(l)
    bytes[#bytes + 1] = p.data[0]
    packet.free(p)
  end
  return bytes
end

local function published(reason)
  local c = counter.open(("apps/bulk/drop_%s.counter"):format(reason))
  return tonumber(counter.read(c))
end

describe("a bulk app", function ()
  after_each(function () engine.configure(config.new()) end)

  it("drops by number and by name, and what has no way out", function ()
    run(class{outputs = {"a", "b", "c"}, drops = {"too long", "bad"}}, {"a", "c"})
    local before = account.packets(engine.link_table)
    send{1, 201, 3, 202, 0, 202, 2, 4, 100, 203, 1, 201, 202}
    assert.same({1, 1}, take("a"))
    assert.same({3}, take("c"))
    assert.same({["too long"] = 2, bad = 3, dropped = 1, ["no link at b"] = 1,
                 ["no such output"] = 3}, engine.drops("bulk"))
    engine.report{}
    assert.equal(2, published("too_long"))
    assert.equal(3, published("bad"))
    local after = account.packets(engine.link_table)
    assert.equal(tonumber(before.freed) + 13, tonumber(after.freed)) -- with ours
    assert.equal(before.held, after.held)
  end)

  it("counts exactly over many bursts", function ()
    run(class{drops = {"x", "y"}}, {"output"})
    local sum = {x = 0, y = 0, output = 0}
    local bytes, fates = {1, 201, 202}, {"output", "x", "y"}
    math.randomseed(5)
    for _ = 1, 300 do
      local burst = {}
      for i = 1, math.random(0, 600) do
        local k = math.random(3)
        burst[i], sum[fates[k]] = bytes[k], sum[fates[k]] + 1
      end
      send(burst)
      sum.output = sum.output - #take("output")
    end
    assert.same({x = sum.x, y = sum.y}, engine.drops("bulk"))
    assert.equal(0, sum.output)
  end)

  it("may have 255 outputs and drops, each told from the others", function ()
    local reasons = {}
    for k = 1, 254 do reasons[k] = "r" .. k end
    run(class{drops = reasons, process_burst = function (_, packets, n, route)
      for i = 0, n - 1 do route[i] = -packets[i].data[0] end
    end}, {"output"})
    local bytes, expected = {}, {dropped = 1}
    for k = 0, 254 do bytes[k + 1] = k end
    for k = 1, 254 do expected["r" .. k] = 1 end
    send(bytes)
    assert.same(expected, engine.drops("bulk"))
    send{255} -- -255 is 1, the output
    assert.same({255}, take("output"))
  end)

  it("keeps what it got when it raises an error", function ()
    run(class{process_burst = function () error("no") end}, {"output"})
    local held = account.packets(engine.link_table).held
    assert.is_false(pcall(send, {1, 1, 1}))
    assert.equal(held + 3, account.packets(engine.link_table).held)
    assert.same({}, engine.drops("bulk"))
  end)

  it("is passed by packets in order, and changed ones by their new length", function ()
    run(class{process_burst = function (_, packets, n)
      for i = 0, n - 1 do packet.resize(packets[i], 60) end
    end}, {"output"})
    local bytes = {}
    for i = 1, 300 do bytes[i] = i % 256 end
    send(bytes)
    local stats = link.stats(engine.link_table["bulk.output -> out.output"])
    assert.equal(300 * 60, stats.txbytes)
    stats = link.stats(engine.link_table["in.x -> bulk.input"])
    assert.equal(300 * 2, stats.rxbytes)
    assert.same(bytes, take("output"))
  end)
end)
