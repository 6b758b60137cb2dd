-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local A, B = ("\1"):rep(6), ("\2"):rep(6)
local TWO = "1:1:1:1:1:1, 2:2:2:2:2:2"
local PLAIN = B .. A .. "\8\0xyz"

-- A packet whose annotation is that TCI.
local function tagged(text, high, low)
  local p = packet.from_string(text)
  note.clear(p)
  p.note8[note.VLAN_TCI * 2], p.note8[note.VLAN_TCI * 2 + 1] = high or 0, low or 0
  return p
end

local function tci(p)
  local at = note.VLAN_TCI * 2
  return p.note8[at], p.note8[at + 1]
end

describe("EtherVLANEncap", function ()
  it("puts a tagged header before packets", function ()
    local unit = click.unit("EtherVLANEncap(0x800, " .. TWO .. ", 1)")
    assert.same({{1, B .. A .. "\129\0\0\1\8\0xyz"}}, unit:send("xyz"))
    unit = click.unit("EtherVLANEncap(0x800, " .. TWO .. ", VLAN_ID 2, VLAN_PCP 1)")
    assert.same({{1, B .. A .. "\129\0\32\2\8\0xyz"}}, unit:send("xyz"))
    unit:free()
  end)

  it("takes the tag from the annotation, but for the native VLAN", function ()
    local unit = click.unit("EtherVLANEncap(0x800, " .. TWO .. ", ANNO, NATIVE_VLAN 1)")
    assert.same({{1, PLAIN}}, unit:send(tagged("xyz", 0xe0, 1)))
    assert.same({{1, B .. A .. "\129\0\224\2\8\0xyz"}},
      unit:send(tagged("xyz", 0xe0, 2)))
    assert.equal("ANNO", unit:read("vlan_tci"))
    unit = click.unit("EtherVLANEncap(0x800, " .. TWO .. ", ANNO, NATIVE_VLAN -1)")
    assert.same({{1, B .. A .. "\129\0\0\0\8\0xyz"}}, unit:send(tagged("xyz", 0, 0)))
    unit:free()
  end)

  it("checks its arguments", function ()
    local function errors(rest)
      return click.unit("EtherVLANEncap(0x800, " .. TWO .. ", " .. rest .. ")").errors
    end
    assert.same({"VLAN_TCI: out of range, bound 65535"}, errors("65536"))
    assert.same({"VLAN_TCI: invalid number"}, errors("anno"))
    assert.same({"VLAN_PCP: out of range, bound 7"}, errors("1, 8"))
    assert.same({"NATIVE_VLAN: out of range, bound -1"}, errors("1, NATIVE_VLAN -2"))
  end)
end)

describe("VLANEncap", function ()
  it("puts a tag behind the addresses", function ()
    local unit = click.unit("VLANEncap(0x1234, ETHERTYPE 0x88a8)")
    assert.same({{1, B .. A .. "\136\168\18\52\8\0xyz"}}, unit:send(PLAIN))
    assert.same({}, unit:send("elevenbytes"))
    assert.same({["too short"] = 1}, unit.lost)
    unit:free()
  end)

  it("can be changed", function ()
    local unit = click.unit("VLANEncap(1)")
    assert.equal("1", unit:read("vlan_id"))
    assert.is_nil(unit:write("vlan_tci", "0x2002"))
    assert.same({{1, B .. A .. "\129\0\32\2\8\0xyz"}}, unit:send(PLAIN))
    assert.equal("1", unit:read("vlan_pcp"))
    unit:free()
  end)
end)

describe("VLANDecap", function ()
  it("takes a tag off, and notes it", function ()
    local unit = click.unit("VLANDecap()")
    local p = unit:pass(tagged(B .. A .. "\129\0\32\2\8\0xyz"))
    assert.same({32, 2}, {tci(p)})
    assert.equal(p.data_off, p.note16[note.MAC_HEADER])
    packet.free(p)
    assert.same({{1, PLAIN}}, unit:send(tagged(PLAIN, 3, 4)))
    assert.same({0, 0}, {tci(unit.packets[1])})
    assert.same({}, unit:send(tagged(B .. A .. "\129\0\32\2\8")))
    unit:free()
  end)

  it("leaves other tags, and the annotation if told so", function ()
    local unit = click.unit("VLANDecap(false, ETHERTYPE 0x88a8)")
    local frame = B .. A .. "\129\0\32\2\8\0xyz"
    assert.same({{1, frame}}, unit:send(tagged(frame, 3, 4)))
    assert.same({3, 4}, {tci(unit.packets[1])})
    unit:free()
  end)
end)

describe("SetVLANAnno", function ()
  it("sets the annotation", function ()
    local unit = click.unit("SetVLANAnno(2, 1)")
    local p = unit:pass(tagged("x"))
    assert.same({32, 2}, {tci(p)})
    assert.is_nil(unit:write("vlan_tci", "7"))
    assert.same({32, 7}, {tci((unit:pass(p)))})
    packet.free(p)
  end)
end)

describe("StripEtherVLANHeader", function ()
  it("takes headers off, tagged and plain", function ()
    local unit = click.unit("StripEtherVLANHeader(5)")
    assert.same({{1, "xyz"}}, unit:send(tagged(B .. A .. "\129\0\32\2\8\0xyz")))
    assert.same({{1, "xyz"}}, unit:send(tagged(PLAIN)))
    assert.same({32, 2}, {tci(unit.packets[1])})
    assert.same({0, 5}, {tci(unit.packets[2])})
    unit:free()
  end)

  it("sends what has no tag out of output 1 if there is no native VLAN", function ()
    local unit = click.unit("StripEtherVLANHeader(-1)", {outputs = 2})
    assert.same({{2, PLAIN}}, unit:send(tagged(PLAIN)))
    unit:free()
    unit = click.unit("StripEtherVLANHeader(-1)")
    unit:send(tagged(PLAIN))
    assert.same({["no VLAN"] = 1}, unit.lost)
    assert.same({"bad NATIVE_VLAN"}, click.unit("StripEtherVLANHeader(4096)").errors)
  end)
end)
