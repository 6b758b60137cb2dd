-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local function send(unit, aggregate)
  local p = packet.from_string("abc")
  note.clear(p)
  p.note32[note.AGGREGATE] = aggregate or 0
  unit:send(p)
end

-- Let turns pass with so many packets in each.
local function turns(unit, ...)
  for _, n in ipairs{...} do
    unit.router.turns = unit.router.turns + 1
    for _ = 1, n do send(unit, 60) end
  end
  unit:free()
end

describe("BatchStats", function ()
  it("counts batches by their sizes", function ()
    local unit = click.unit("BatchStats")
    assert.same({-1, 0, 0, "0", ""}, {unit:read("max"), unit:read("count"),
      unit:read("median"), unit:read("average"), unit:read("dump")})
    turns(unit, 3, 1, 3, 0, 8, 3)
    assert.equal("1: 1\n3: 3\n8: 1\n", unit:read("dump"))
    assert.same({5, 3, 3, 3, 8, 3}, {unit:read("count"), unit:read("nval"),
      unit:read("median"), unit:read("most_seen"), unit:read("max"),
      unit:read("most_seen_freq")})
    assert.same({"3.6", "3.6"}, {unit:read("average"), unit:read("avg")})
  end)

  it("sees what passes between two turns of a router", function ()
    local r = click.run([[
      InfiniteSource(LIMIT 10, BURST 5, STOP true) -> s :: BatchStats
      -> c :: Counter -> Discard]], {engine = true})
    assert.equal("10", r:handler_read("c.count"))
    local sum = 0
    for size, n in r:handler_read("s.dump"):gmatch("(%d+): (%d+)") do
      sum = sum + size * n
    end
    assert.equal(10, sum)
    r:close()
  end)
end)

describe("BurstStats", function ()
  it("counts how often an aggregate comes in a row", function ()
    local unit = click.unit("BurstStats")
    for _, aggregate in ipairs{0, 0, 5, 5, 5, 0, 7, 7} do send(unit, aggregate) end
    assert.equal("1: 1\n2: 1\n3: 1\n", unit:read("dump"))
    for _ = 1, 2000 do send(unit, 8) end
    send(unit, 9)
    assert.equal(1023, unit:read("max"))
    unit:free()
  end)
end)

describe("AverageBatchCounter", function ()
  local function all(unit)
    local list = {}
    for i, name in ipairs{"average", "count_packets", "count_batches"} do
      list[i], list[i + 3] = unit:read(name), unit:read(name .. "_total")
    end
    return list
  end

  it("counts what passed in the last interval, and in all", function ()
    local unit = click.unit("AverageBatchCounter(INTERVAL 100)", {time = 1e9})
    assert.same({"0", 0, 0, "0", 0, 0}, all(unit))
    turns(unit, 3, 1)
    assert.same({"0", 0, 0, "2", 4, 2}, all(unit))
    unit:wait(0.1)
    assert.same({"2", 4, 2, "2", 4, 2}, all(unit))
    turns(unit, 6)
    assert.same({"2", 4, 2, "3.33333333333", 10, 3}, all(unit))
    unit:wait(0.1)
    assert.same({"6", 6, 1, "3.33333333333", 10, 3}, all(unit))
    unit:wait(0.35)
    assert.same({"0", 0, 0, "3.33333333333", 10, 3}, all(unit))
  end)

  it("adds up lengths where AggregateLength is upstream", function ()
    local r = click.run([[
      InfiniteSource(LENGTH 60, LIMIT 4, STOP false) -> AggregateLength -> Null
      -> s :: AverageBatchCounter(LENGTH_STATS true, INTERVAL 10) -> Discard;
      Script(wait 15ms, stop)]])
    assert.equal("60", r:handler_read("s.average_frame_len"))
    assert.equal("60", r:handler_read("s.average_frame_len_total"))
    r:close()
    local unit = click.unit("AverageBatchCounter(LENGTH_STATS true)")
    assert.same({"Could not find upstream AggregateLength element: LENGTH_STATS not "
      .. "available"}, unit.warnings)
  end)
end)
