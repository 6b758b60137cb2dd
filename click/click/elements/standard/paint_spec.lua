-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local function clean(bytes)
  local p = packet.from_string(bytes or "x")
  note.clear(p)
  return p
end

-- What is noted of a packet that passes the element.
local function passed(text, p, options)
  local q, o = click.unit(text, options):pass(p or clean())
  packet.free(q)
  return q, o
end

describe("Paint", function ()
  it("notes colors", function ()
    assert.equal(7, passed("Paint(7)").note8[note.PAINT])
    assert.equal(7, passed("Paint(7, 3)").note8[note.FIRST + 3])
    assert.equal(700, passed("Paint2(700)").note16[note.PAINT2])
    assert.equal(9, passed("SetAnnoByte(PAINT, 9)").note8[note.PAINT])
    local unit = click.unit("Paint(7)")
    unit:write("color", "8")
    local q = unit:pass(clean())
    assert.equal(8, q.note8[note.PAINT])
    packet.free(q)
    assert.same({"COLOR: out of range, bound 255"}, click.unit("Paint(256)").errors)
  end)

  it("looks at them", function ()
    local unit = click.unit("CheckPaint(0)", {outputs = 2})
    assert.same({{1, "x"}}, unit:send("x"))
    local p = clean()
    p.note8[note.PAINT] = 1
    assert.same({{2, "x"}}, unit:send(p))
    unit:free()
    unit = click.unit("PaintTee(0)", {outputs = 2})
    assert.same({{2, "x"}, {1, "x"}}, unit:send("x"))
    unit:free()
    unit = click.unit("CheckPaint(5)")
    unit:send("x")
    assert.same({["other color"] = 1}, unit.lost)
  end)

  it("notes a packet's type", function ()
    assert.equal(note.MULTICAST,
      passed("SetPacketType(MULTICAST)").note8[note.PACKET_TYPE])
    assert.same({"unrecognized packet type 'X'"}, click.unit("SetPacketType(X)").errors)
  end)
end)

describe("Timestamps", function ()
  local function text(p) return note.time_text(p.note64[note.TIMESTAMP]) end

  it("are set", function ()
    assert.equal("1.500000", text(passed("SetTimestamp(1.5)")))
    assert.equal("9.000000", text(passed("SetTimestamp", nil, {time = 9})))
    assert.equal("2.000000", note.time_text(
      passed("SetTimestamp(2, FIRST true)").note64[note.FIRST_TIMESTAMP]))
    assert.same({"TIMESTAMP: expected timestamp"}, click.unit("SetTimestamp(x)").errors)
    assert.matches("is deprecated, use SetTimestampDelta%(TYPE FIRST%)$",
      click.unit("SetTimestamp(DELTA true)").errors[1])
  end)

  it("are moved, unless they are 0", function ()
    local p = clean()
    note.set_time(p, 5)
    assert.equal("-1.500000", text(passed("AdjustTimestamp(-6.5)", p)))
    assert.equal("0.000000", text(passed("AdjustTimestamp(-6.5)")))
    assert.equal("-6.500000", text(passed("AdjustTimestamp(-6.5, ALL true)")))
    assert.equal("-6.500000", click.unit("AdjustTimestamp(-6.5)"):read("time"))
  end)

  it("become differences", function ()
    local unit = click.unit("SetTimestampDelta")
    for i, time in ipairs{5, 7} do
      local p = clean()
      note.set_time(p, time)
      local q = unit:pass(p)
      assert.equal(i == 1 and "0.000000" or "2.000000", text(q))
      packet.free(q)
    end
    assert.equal("5.000000", unit:read("first"))
  end)

  it("are read to the nanosecond", function ()
    for _, t in ipairs{"0.000000", "1.000000001", "-12.250000",
                       "1700000000.123456789"} do
      assert.equal(t, note.time_text(note.parse_time(t)))
    end
    assert.equal("0.500000", note.time_text(note.parse_time(".5")))
    assert.is_nil(note.parse_time("1.2.3"))
    assert.is_nil(note.parse_time(""))
  end)
end)

describe("A copy of a packet", function ()
  it("has its notes, and what was stripped", function ()
    local p = clean("headerbody")
    p.note8[note.PAINT] = 3
    p.data_off, p.length = p.data_off + 6, p.length - 6
    local q = note.clone(p)
    assert.equal(3, q.note8[note.PAINT])
    q.data_off, q.length = q.data_off - 6, q.length + 6
    assert.equal("headerbody", require("ffi").string(q.data, q.length))
    packet.free(p)
    packet.free(q)
  end)
end)
