-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")

-- Scapy: IP(src="10.0.0.1", dst="10.0.0.2", ttl=250, id=0) / UDP(sport=1, dport=2) /
--   "data!"
local FIRST = "\69\0\0\33\0\0\0\0\250\17\172\201\10\0\0\1\10\0\0\2"
  .. "\0\1\0\2\0\13\242\11data!"
-- the same, id=1; chksum=0
local SECOND = "\69\0\0\33\0\1\0\0\250\17\172\200\10\0\0\1\10\0\0\2"
  .. "\0\1\0\2\0\13\0\0data!"

local function to(text, a, b, c, d)
  local p = packet.from_string(text)
  note.clear(p)
  local at = 4 * note.DST_IP
  p.note8[at], p.note8[at + 1], p.note8[at + 2], p.note8[at + 3] =
    a or 0, b or 0, c or 0, d or 0
  return p
end

describe("UDPIPEncap", function ()
  it("puts headers before packets", function ()
    local unit = click.unit("UDPIPEncap(10.0.0.1, 1, 10.0.0.2, 2)")
    local p = unit:pass(to("data!"))
    assert.equal(FIRST, ffi.string(p.data, p.length))
    assert.equal(p.data_off, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 20, p.note16[note.TRANSPORT_HEADER])
    assert.equal("\10\0\0\2", ffi.string(p.note8 + 4 * note.DST_IP, 4))
    packet.free(p)
    unit = click.unit("UDPIPEncap(10.0.0.1, 1, DST_ANNO, 2, false)")
    assert.same({{1, FIRST:sub(1, 26) .. "\0\0data!"}},
      unit:send(to("data!", 10, 0, 0, 2)))
    assert.same({{1, SECOND}}, unit:send(to("data!", 10, 0, 0, 2)))
    unit:free()
  end)

  it("can be changed", function ()
    local unit = click.unit("UDPIPEncap(10.0.0.1, 1, 10.0.0.2, domain)")
    assert.equal("53", unit:read("dport"))
    assert.is_nil(unit:write("dst", "10.0.0.3"))
    assert.same({"10.0.0.1", "1", "10.0.0.3"},
      {unit:read("src"), unit:read("sport"), unit:read("dst")})
    assert.equal("bad DST", unit:write("dst", "nonsense"))
    assert.same({"SPORT: parse error"},
      click.unit("UDPIPEncap(10.0.0.1, x, 10.0.0.2, 2)").errors)
  end)

  it("drops what would be too long", function ()
    local unit = click.unit("UDPIPEncap(10.0.0.1, 1, 10.0.0.2, 2)")
    assert.same({}, unit:send(packet.resize(packet.allocate(), packet.max_payload)))
    assert.same({["too long"] = 1}, unit.lost)
  end)
end)

describe("DynamicUDPIPEncap", function ()
  it("takes the next ports after some packets", function ()
    local unit =
      click.unit("DynamicUDPIPEncap(10.0.0.1, 255, 10.0.0.2, 65535, true, 2)")
    local ports = {}
    for i = 1, 5 do ports[i] = unit:send(to("x"))[1][2]:sub(21, 24) end
    assert.same({"\0\255\255\255", "\0\255\255\255", "\1\0\0\0", "\1\0\0\0",
      "\1\1\0\1"}, ports)
    unit:free()
  end)
end)

describe("RandomUDPIPEncap", function ()
  it("makes sound headers", function ()
    local check = click.unit("CheckUDPHeader")
    local unit = click.unit("RandomUDPIPEncap()")
    assert.equal(1, #check:send((unit:pass(to("data!")))))
    check:free()
  end)
end)

describe("TCPIPSend", function ()
  it("sends packets when it is told to", function ()
    local unit = click.unit("TCPIPSend", {inputs = 0})
    assert.is_nil(unit:write("send", "10.0.0.1 1 10.0.0.2 80 3 4 18 2 true"))
    -- Scapy: IP(src="10.0.0.1", dst="10.0.0.2", ttl=255, id=0, flags="DF") /
    --   TCP(sport=1, dport=80, seq=3, ack=4, flags="SA", window=32120)
    local syn = "\69\0\0\40\0\0\64\0\255\6\103\205\10\0\0\1\10\0\0\2\0\1\0\80"
      .. "\0\0\0\3\0\0\0\4\80\18\125\120\30\0\0\0"
    assert.same({{1, syn}, {1, syn}}, unit:wait(0))
    assert.is_true(unit.stopped)
    assert.equal("DST: parse error", unit:write("send", "10.0.0.1 1 x 80 3 4 18"))
    unit:free()
  end)
end)
