-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local dumps = require("testing.click_dumps")
local note = require("click.note")

local function of(aggregate, paint)
  local p = dumps.packet("src proto", "1.0.0.1 U")
  p.note32[note.AGGREGATE], p.note8[note.PAINT] = aggregate, paint or 0
  return p
end

-- Where each of these aggregates goes: its output, or false.
local function outputs(unit, ...)
  local list = {}
  for i, aggregate in ipairs{...} do
    local out = unit:send(of(aggregate))
    list[i] = out[1] and out[1][1] or false
  end
  unit:free()
  return list
end

describe("AggregateFirst", function ()
  it("passes the first packet of each aggregate", function ()
    assert.same({1, 1, false, false, 1}, outputs(click.unit("AggregateFirst"),
      1, 2, 1, 2, 4294967295))
    assert.same({1, 2, 1}, outputs(click.unit("AggregateFirst", {outputs = 2}),
      1, 1, 0))
  end)

  it("forgets flows that are over", function ()
    local r = click.run([[
      FromIPSummaryDump(DATA "!data timestamp src dst sport dport proto tcp_flags
1 1.0.0.1 2.0.0.2 7 8 T S
1 1.0.0.1 2.0.0.2 7 8 T R
90 3.0.0.3 2.0.0.2 7 8 T S
91 3.0.0.3 2.0.0.2 7 8 T A
", STOP true)
      -> flows :: AggregateIPFlows(REAP 1) -> f :: AggregateFirst(NOTIFIER flows)
      -> c :: Counter -> Discard]])
    assert.equal("2", r:handler_read("c.count"))
    assert.same({[2] = true}, r:find("f").seen)
    r:close()
    assert.same({"d is not an AggregateNotifier"},
      click.unit("AggregateFirst(NOTIFIER d)", {others = {d = {name = "d",
        class = {}}}}).errors)
  end)
end)

describe("AggregateFilter", function ()
  it("sends packets by the first pattern that has their aggregate", function ()
    local unit = click.unit(
      "AggregateFilter(allow 7 9, 1 5-8 100-200, drop 300, 2 all)", {outputs = 3})
    assert.same({}, unit.errors)
    assert.same({1, 1, 2, 2, 2, 2, 3, false, 3},
      outputs(unit, 7, 9, 5, 8, 100, 200, 201, 300, 4294967295))
    assert.same({"pattern 1: aggregate 7 already filtered to output 0"}, unit.warnings)
  end)

  it("drops the rest, and what goes to outputs that aren't there", function ()
    local unit = click.unit("AggregateFilter(0 1, 3 2, deny 3)")
    assert.same({1, false, false, false}, outputs(unit, 1, 2, 3, 4))
    assert.same({["no match"] = 3}, unit.lost)
    assert.same({1, 1, false, 1}, outputs(
      click.unit("AggregateFilter(allow 0-4294967290, drop 4294967295, allow -)"),
      0, 4294967290, 4294967295, 4294967294))
  end)

  it("says what is wrong, and what is idle", function ()
    for pattern, problem in pairs{
      [" , allow 1"] = "empty pattern 0", ["x 1"] = "pattern 0: expected a port number",
      allow = "pattern 0 has no aggregates",
      ["allow 1 2x"] = "pattern 0: bad aggregate number '2x'",
      ["allow 1-x"] = "pattern 0: bad aggregate number '1-x'",
    } do
      assert.same({problem}, click.unit(("AggregateFilter(%s)"):format(pattern)).errors)
    end
    assert.same({"pattern 1 matches no packets"},
      click.unit("AggregateFilter(allow all, drop 1)").warnings)
    assert.same({}, click.unit("AggregateFilter(allow 1-5, 0 3)").warnings)
  end)
end)

describe("AggregateLength and AggregatePaint", function ()
  it("set the aggregate", function ()
    local function aggregate(element, change)
      local unit, p = click.unit(element), of(5, 0x87)
      if change then change(p) end
      local q = unit:pass(p)
      return q and q.note32[note.AGGREGATE], unit
    end
    assert.equal(28, (aggregate("AggregateLength")))
    assert.equal(38, (aggregate("AggregateLength", function (p)
      p.note32[note.EXTRA_LENGTH] = 10
    end)))
    assert.equal(26, (aggregate("AggregateLength(IP true)", function (p)
      p.note16[note.NETWORK_HEADER] = p.data_off + 2
    end)))
    local none, unit = aggregate("AggregateLength(IP true)", function (p)
      p.note16[note.NETWORK_HEADER] = 0
    end)
    assert.same({nil, {["no IP header"] = 1}}, {none, unit.lost})
    assert.equal(0x87, (aggregate("AggregatePaint")))
    assert.equal(7, (aggregate("AggregatePaint(4)")))
    assert.equal(0x587, (aggregate("AggregatePaint(INCREMENTAL true)")))
    assert.same({"BITS: out of range, bound 8"}, click.unit("AggregatePaint(9)").errors)
  end)
end)
