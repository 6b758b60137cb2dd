-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local bytes = require("net.wire.bytes").from_hex

-- As Scapy builds it: 2001:db8::1 port 1234 to 2001:db8::2 port 53, "abc".
local DATAGRAM = bytes[[60000000000b11ff
  20010db8000000000000000000000001 20010db8000000000000000000000002
  04d20035000bdaf9 616263]]

describe("UDPIP6Encap", function ()
  it("puts both headers before packets", function ()
    local unit = click.unit("UDPIP6Encap(2001:db8::1, 1234, 2001:db8::2, domain)")
    assert.same({{1, DATAGRAM}}, unit:send("abc"))
    local p = unit.packets[1]
    assert.equal(p.data_off, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 40, p.note16[note.TRANSPORT_HEADER])
    assert.equal(DATAGRAM:sub(25, 40), ffi.string(p.note8 + note.DST_IP6, 16))
    unit:free()
  end)

  it("sends to the annotation", function ()
    local unit = click.unit("UDPIP6Encap(2001:db8::1, 1234, DST_ANNO, 53)")
    local p = packet.from_string("abc")
    note.clear(p)
    ffi.copy(p.note8 + note.DST_IP6, DATAGRAM:sub(25, 40), 16)
    assert.same({{1, DATAGRAM}}, unit:send(p))
    assert.equal("DST_ANNO", unit:read("dst"))
    unit:free()
  end)

  it("sends a checksum of 0 as ffff", function ()
    local unit = click.unit("UDPIP6Encap(::1, 0, ::2, 0)")
    -- all but the payload comes to 3 + 17 + 10 + 10 = 0x28
    assert.equal("\255\255", unit:send("\255\215")[1][2]:sub(47, 48))
    unit:free()
  end)

  it("is changed by handlers", function ()
    local unit = click.unit("UDPIP6Encap(::1, 1, ::2, 2)")
    assert.is_nil(unit:write("src", "2001:db8::1"))
    assert.is_nil(unit:write("sport", "1234"))
    assert.is_nil(unit:write("dst", "2001:db8::2"))
    assert.is_nil(unit:write("dport", "53"))
    assert.same({{1, DATAGRAM}}, unit:send("abc"))
    assert.same({"2001:db8::1", "1234", "2001:db8::2", "53"}, {unit:read("src"),
      unit:read("sport"), unit:read("dst"), unit:read("dport")})
    unit:free()
    assert.same({"bad DST"}, click.unit("UDPIP6Encap(::1, 1, 10.0.0.1, 2)").errors)
  end)

  it("drops what gets too long", function ()
    local unit = click.unit("UDPIP6Encap(::1, 1, ::2, 2)")
    assert.same({}, unit:send(("x"):rep(packet.max_payload - 47)))
    assert.same({["too long"] = 1}, unit.lost)
  end)
end)
