-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local function with_number(number, length)
  return ("."):rep(40) .. number .. ("."):rep((length or 60) - 48)
end

describe("NumberPacket", function ()
  it("writes numbers in the machine's order", function ()
    local unit = click.unit("NumberPacket")
    assert.same({{1, with_number("\0\0\0\0\0\0\0\0")}}, unit:send(("."):rep(60)))
    assert.same({{1, with_number("\1\0\0\0\0\0\0\0")}}, unit:send(("."):rep(60)))
    assert.equal(2, unit:read("count"))
    unit:free()
  end)

  it("writes them in network order, at the offset", function ()
    local unit = click.unit("NumberPacket(2, NET_ORDER true)")
    unit.element.count = 2 ^ 33 + 5
    assert.same({{1, "ab\0\0\0\2\0\0\0\5"}}, unit:send("abcdefghij"))
    unit:free()
  end)

  it("makes short packets longer", function ()
    local unit = click.unit("NumberPacket(OFFSET 4)")
    assert.same({{1, "ab\0\0\0\0\0\0\0\0\0\0"}}, unit:send("ab"))
    unit:free()
  end)

  it("refuses an offset outside of packets", function ()
    local unit = click.unit("NumberPacket(99999)")
    assert.same({"OFFSET: out of range, bound 10232"}, unit.errors)
  end)
end)

describe("CheckNumberPacket", function ()
  it("counts numbers", function ()
    local unit = click.unit("CheckNumberPacket(COUNT 3)", {outputs = 2})
    for _, number in ipairs {"\0", "\2", "\2"} do
      unit:send(with_number(number .. ("\0"):rep(7)))
    end
    assert.equal("0: 1\n1: 0\n2: 2\n", unit:read("dump"))
    assert.equal("[2] : 2", unit:read("max"))
    assert.equal("[1] : 0", unit:read("min"))
    assert.equal(2, unit:send(with_number("\3" .. ("\0"):rep(7)))[1][1])
    assert.same({"e :: CheckNumberPacket: 3 out of scope (count is 3) !"}, unit.said)
    assert.equal(2, unit:send(("x"):rep(47))[1][1])
    unit:write("count", "1")
    assert.equal("0: 0\n", unit:read("dump"))
    assert.equal("count parameter must be integer", unit:write("count", "x"))
    unit:free()
  end)

  it("drops what is wrong without a second output", function ()
    local unit = click.unit("CheckNumberPacket(40, 1)")
    unit:send(("x"):rep(47))
    unit:send(with_number("\1" .. ("\0"):rep(7)))
    assert.same({["too short"] = 1, ["number out of range"] = 1}, unit.lost)
  end)
end)

describe("TimestampDiff", function ()
  local function pair(recorder_config, config)
    local recorder = click.unit("RecordTimestamp(" .. recorder_config .. ")",
      {name = "r"})
    local unit = click.unit("TimestampDiff(r" .. config .. ")",
      {outputs = 2, others = {r = recorder.element}})
    -- One clock for both.
    recorder.router.clock = unit.router.clock
    return recorder, unit
  end

  local function send(unit, number)
    return unit:send(with_number(string.char(number) .. ("\0"):rep(7)))[1][1]
  end

  it("measures how long packets took", function ()
    local recorder, unit = pair("OFFSET 40", "")
    for number = 0, 3 do
      send(recorder, number)
      unit:wait(0.001 * (number + 1))
      assert.equal(1, send(unit, number))
    end
    assert.equal("1000", unit:read("min"))
    assert.equal("4000", unit:read("max"))
    assert.equal("2500", unit:read("average"))
    assert.equal("3500", unit:read("avg", "2"))
    assert.equal("3000", unit:read("median"))
    assert.equal("4000", unit:read("perc", "100"))
    assert.equal("1000", unit:read("perc00"))
    assert.equal("1118.03398875", unit:read("stddev"))
    assert.equal(3, unit:read("index"))
    assert.equal(4000, unit:read("last"))
    assert.equal("0: 1000\n1: 2000\n2: 3000\n3: 4000\n", unit:read("dump"))
    assert.equal("1000\n2000\n3000\n4000\n", unit:read("dump_list"))
    -- Taken, and never noted.
    assert.equal(2, send(unit, 0))
    assert.equal(2, send(unit, 9))
    assert.equal(2, unit:send("short")[1][1])
    unit:free()
    recorder:free()
  end)

  it("notes packets in the order in which they come, or samples of them", function ()
    local recorder, unit = pair("", "")
    recorder:send("any")
    recorder:send("any")
    unit:wait(0.5)
    assert.equal(1, send(unit, 1))
    assert.equal(2, send(unit, 2))
    assert.equal(500000, unit:read("last"))
    unit:free()
    recorder:free()
    recorder, unit = pair("OFFSET 40, SAMPLE 2", ", SAMPLE 2")
    for number = 0, 3 do send(recorder, number) end
    for number = 0, 3 do assert.equal(1, send(unit, number)) end
    assert.equal(1, unit:read("index"))
    unit:free()
    recorder:free()
  end)

  it("leaves out what took too long, in nanoseconds if that is wanted", function ()
    local recorder, unit = pair("OFFSET 40", ", MAXDELAY 10, NANO true, VERBOSE true")
    send(recorder, 0)
    send(recorder, 1)
    unit:wait(0.005)
    send(unit, 0)
    unit:wait(0.010)
    send(unit, 1)
    assert.same({"Packet 1 experienced delay 15 ms > 10 ms"}, unit.said)
    assert.equal(0, unit:read("index"))
    assert.is_true(math.abs(unit:read("last") - 5e6) < 200)
    unit:free()
    recorder:free()
  end)

  it("has room for N packets, unless it may grow", function ()
    local recorder, unit = pair("OFFSET 40, N 2", "")
    for number = 0, 2 do send(recorder, number) end
    assert.equal(1, #recorder.said)
    assert.equal(2, send(unit, 2))
    unit:free()
    recorder:free()
    recorder, unit = pair("OFFSET 40, N 2, DYNAMIC true", ", N 1")
    for number = 0, 2 do send(recorder, number) end
    assert.equal(1, send(unit, 2))
    assert.equal(1, send(unit, 1))
    assert.equal(0, unit:read("index"))
    unit:free()
    recorder:free()
  end)
end)
