-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

-- Scapy: IP(src="10.0.0.9", dst="10.0.0.1", id=7, flags="DF", ttl=9) /
--   ICMP(type=8, id=3, seq=4) / "data!"
local REQUEST = "\69\0\0\33\0\7\64\0\9\1\93\204\10\0\0\9\10\0\0\1"
  .. "\8\0\254\53\0\3\0\4data!"
-- The same with src and dst exchanged, flags=0, ttl=255, type=0.
local ANSWER = "\69\0\0\33\0\7\0\0\255\1\167\203\10\0\0\1\10\0\0\9"
  .. "\0\0\6\54\0\3\0\4data!"

local function noted(text)
  local p = packet_bytes.noted(text, 20)
  p.note8[note.PAINT] = 5
  return p
end

describe("ICMPPingResponder", function ()
  it("answers echo requests", function ()
    local unit = click.unit("ICMPPingResponder", {time = 1000})
    local p = unit:pass(noted(REQUEST))
    assert.equal(ANSWER, ffi.string(p.data, p.length))
    assert.equal("\10\0\0\9", ffi.string(p.note8 + 4 * note.DST_IP, 4))
    assert.equal(0, p.note8[note.PAINT])
    assert.is_true(p.note64[note.TIMESTAMP] > 0)
    packet.free(p)
  end)

  it("has a second output for everything else", function ()
    local unit = click.unit("ICMPPingResponder", {outputs = 2})
    for _, text in ipairs{ANSWER, REQUEST:sub(1, 27), REQUEST:sub(1, 9) .. "\17"
                          .. REQUEST:sub(11), ""} do
      assert.same({{2, text}}, unit:send(noted(text)))
    end
    unit:free()
    unit = click.unit("ICMPPingResponder")
    unit:send(noted(ANSWER))
    assert.same({["no echo request"] = 1}, unit.lost)
  end)
end)

describe("ICMPIPEncap", function ()
  it("puts headers before packets", function ()
    local unit = click.unit("ICMPIPEncap(10.0.0.9, 10.0.0.1, echo, IDENTIFIER 3)")
    -- Scapy: IP(src="10.0.0.9", dst="10.0.0.1", id=1, ttl=255) / ICMP(id=3, seq=1) /
    --   "data!"
    assert.same({{1, "\69\0\0\33\0\1\0\0\255\1\167\209\10\0\0\9\10\0\0\1"
      .. "\8\0\254\56\0\3\0\1data!"}}, unit:send(noted("data!")))
    local p = unit:pass(noted("data!"))
    assert.same({2, 2}, {p.data[5], p.data[27]})
    assert.equal(p.data_off + 20, p.note16[note.TRANSPORT_HEADER])
    packet.free(p)
    assert.is_nil(unit:write("dst", "10.0.0.2"))
    assert.equal("syntax error", unit:write("dst", "x"))
    assert.equal("10.0.0.2", unit:read("dst"))
    unit:free()
  end)

  it("has types and codes by name", function ()
    local function start(config)
      local unit = click.unit("ICMPIPEncap(10.0.0.9, 10.0.0.1, " .. config .. ")")
      assert.same({}, unit.errors)
      local p = unit:pass(noted(""))
      local text = ffi.string(p.data + 20, 2)
      local length = p.length
      packet.free(p)
      return text, length
    end
    assert.same({"\3\4", 28}, {start("unreachable, needfrag")})
    assert.same({"\13\0", 40}, {start("timestamp")})
    assert.same({"\99\7", 28}, {start("99, 7")})
    assert.same({"invalid CODE"},
      click.unit("ICMPIPEncap(1.0.0.1, 1.0.0.2, 3, x)").errors)
  end)
end)

describe("ICMPPingEncap", function ()
  it("makes echo requests", function ()
    local unit = click.unit("ICMPPingEncap(10.0.0.9, 10.0.0.1, IDENTIFIER 3)")
    assert.same({{1, "\69\0\0\33\0\1\0\0\255\1\167\209\10\0\0\9\10\0\0\1"
      .. "\8\0\254\56\0\3\0\1data!"}}, unit:send(noted("data!")))
    unit:free()
  end)
end)

describe("ICMPPingSource", function ()
  it("sends requests from time to time, and stops", function ()
    local unit = click.unit("ICMPPingSource(10.0.0.9, 10.0.0.1, INTERVAL 2, LIMIT 2,"
      .. " IDENTIFIER 3, DATA 'data!', STOP true)", {inputs = 0})
    assert.same({}, unit:wait(1.9))
    -- as above, ttl=200
    assert.same({{1, "\69\0\0\33\0\1\0\0\200\1\222\209\10\0\0\9\10\0\0\1"
      .. "\8\0\254\56\0\3\0\1data!"}}, unit:wait(0.2))
    assert.equal(1, #unit:wait(2))
    assert.is_nil(unit.stopped)
    assert.equal(0, #unit:wait(2))
    assert.is_true(unit.stopped)
    assert.equal("2", unit:read("count"))
    unit:free()
  end)

  it("tells of replies", function ()
    local unit = click.unit("ICMPPingSource(10.0.0.9, 10.0.0.1, IDENTIFIER 3)")
    unit:wait(1.5)
    local sent = unit.packets[1].note64[note.TIMESTAMP]
    local p = noted(ANSWER:sub(1, 26) .. "\0\1" .. ANSWER:sub(29))
    p.note64[note.TIMESTAMP] = sent + 2500000
    assert.same({}, unit:send(p))
    assert.same({"e :: ICMPPingSource: 5 bytes from 10.0.0.1: icmp_seq=1 ttl=255 "
      .. "time=2.500 ms"}, unit.said)
    unit:send(noted(ANSWER)) -- never sent
    assert.equal("1 packets transmitted, 1 received, 0% packet loss\n"
      .. "rtt min/avg/max/mdev = 2.500/2.500/2.500/0.000\n", unit:read("summary"))
    assert.equal("0.002500", unit:read("rtt_avg"))
    unit.said = {}
    unit.element:cleanup()
    assert.same({"e :: ICMPPingSource: 1 packets transmitted, 1 received, "
      .. "0% packet loss", "e :: ICMPPingSource: rtt min/avg/max/mdev = "
      .. "2.500/2.500/2.500/0.000"}, unit.said)
    unit:write("reset_counts")
    assert.equal("0 packets transmitted, 0 received", unit:read("summary"))
    unit:free()
  end)
end)
