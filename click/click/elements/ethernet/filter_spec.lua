-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local ME, OTHER, ALL = "\2\0\0\0\0\1", "\2\0\0\0\0\2", ("\255"):rep(6)

local function frame(destination, source)
  local p = packet.from_string(destination .. source .. "\8\0")
  note.clear(p)
  p.note8[note.PACKET_TYPE] = 7
  return p
end

-- The packet's type behind the unit, or nil.
local function type_of(unit, ...)
  local p = unit:pass(frame(...))
  local kind = p and p.note8[note.PACKET_TYPE]
  if p then packet.free(p) end
  return kind
end

describe("HostEtherFilter", function ()
  it("notes to whom frames are, and drops others'", function ()
    local unit = click.unit("HostEtherFilter(2:0:0:0:0:1)")
    assert.equal(note.HOST, type_of(unit, ME, OTHER))
    assert.equal(note.BROADCAST, type_of(unit, ALL, OTHER))
    assert.equal(note.MULTICAST, type_of(unit, "\255\255\255\255\255\254", OTHER))
    assert.equal(note.MULTICAST, type_of(unit, "\1\0\94\0\0\1", OTHER))
    assert.is_nil(type_of(unit, OTHER, ME))
    assert.is_nil(type_of(unit, "\2\0\0\0\1\1", ME))
    assert.equal(note.HOST, type_of(unit, ME, ME))
    assert.same({["for another host"] = 2}, unit.lost)
  end)

  it("drops its own and keeps others' if told so", function ()
    local unit = click.unit("HostEtherFilter(2:0:0:0:0:1, true, false)")
    assert.is_nil(type_of(unit, ALL, ME))
    assert.equal(note.OTHERHOST, type_of(unit, OTHER, OTHER))
    assert.equal(note.BROADCAST, type_of(unit, ALL, "\2\0\0\0\1\1"))
    assert.same({own = 1}, unit.lost)
  end)

  it("has a second output, an offset and a handler", function ()
    local unit = click.unit("HostEtherFilter(2:0:0:0:0:9, OFFSET 1)", {outputs = 2})
    assert.equal("02-00-00-00-00-09", unit:read("ether"))
    assert.is_nil(unit:write("ether", "2:0:0:0:0:1"))
    assert.equal("expected Ethernet address", unit:write("ether", "2:0"))
    local mine, others = "x" .. ME .. OTHER .. "\8\0", "x" .. OTHER .. ME .. "\8\0"
    assert.same({{1, mine}}, unit:send(mine))
    assert.same({{2, others}}, unit:send(others))
    assert.same({}, unit:send(ME .. OTHER .. "\8\0"))
    unit:free()
  end)
end)

describe("DropBroadcasts", function ()
  it("drops by the packet's type", function ()
    local unit = click.unit("DropBroadcasts")
    local function passes(kind)
      local p = packet.from_string("x")
      p.note8[note.PACKET_TYPE] = kind
      return #unit:send(p) == 1
    end
    assert.is_true(passes(note.HOST))
    assert.is_false(passes(note.BROADCAST))
    assert.is_false(passes(note.MULTICAST))
    assert.is_true(passes(note.OTHERHOST))
    assert.equal("2", unit:read("drops"))
    assert.same({"DropBroadcasts: dropped a packet"}, unit.said)
    unit:free()
  end)
end)

describe("MarkMACHeader", function ()
  it("notes where headers are", function ()
    local unit = click.unit("MarkMACHeader(2, 14)")
    local p = unit:pass(frame(ME, OTHER))
    assert.equal(p.data_off + 2, p.note16[note.MAC_HEADER])
    assert.equal(p.data_off + 16, p.note16[note.NETWORK_HEADER])
    packet.free(p)
    p = click.unit("MarkMACHeader()"):pass(frame(ME, OTHER))
    assert.equal(p.data_off, p.note16[note.MAC_HEADER])
    assert.equal(0, p.note16[note.NETWORK_HEADER])
    packet.free(p)
    assert.same({}, unit:send("x"))
  end)
end)

describe("TruncateFCS", function ()
  it("cuts four bytes, or counts them from those already cut", function ()
    local unit = click.unit("TruncateFCS")
    local p = packet.from_string("abcdef")
    note.clear(p)
    p.note32[note.EXTRA_LENGTH] = 6
    assert.same({{1, "abcdef"}}, unit:send(p))
    assert.equal(2, unit.packets[1].note32[note.EXTRA_LENGTH])
    assert.same({{1, "ab"}}, unit:send(table.remove(unit.packets)))
    unit:free()
  end)
end)
