-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

-- Scapy: IP(src="10.0.0.9", dst="192.0.2.1", ttl=1)/UDP(sport=1, dport=2)/"data"
local UDP = "\69\0\0\32\0\1\0\0\1\17\237\194\10\0\0\9\192\0\2\1\0\1\0\2\0\12\91\6data"

local function about(text, change)
  local p = packet.from_string(text)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off
  p.note8[note.ICMP_PARAMPROB] = 20
  p.note32[note.DST_IP] = 0x04030201
  if change then change(p) end
  return p
end

-- Sum of the 16-bit words, folded: 0xffff where it holds its own checksum.
local function sum(text)
  local total = 0
  if #text % 2 == 1 then text = text .. "\0" end
  for i = 1, #text, 2 do total = total + text:byte(i) * 256 + text:byte(i + 1) end
  while total > 65535 do total = total % 65536 + math.floor(total / 65536) end
  return total
end

-- The error's bytes, whose checksums are right.
local function error_about(config, p)
  local unit = click.unit("ICMPError(" .. config .. ")")
  assert.same({}, unit.errors)
  local out = unit:send(p)
  unit:free()
  if not out[1] then return nil, next(unit.lost) end
  local text = out[1][2]
  local header = text:byte(1) % 16 * 4
  assert.equal(0xffff, sum(text:sub(1, header)))
  assert.equal(0xffff, sum(text:sub(header + 1)))
  return text
end

describe("ICMPError", function ()
  it("makes errors with the packet in them", function ()
    local text = error_about("10.0.0.1, timeexceeded", about(UDP .. "pad"))
    assert.equal("\69\0\0\63\0\1\0\0\200\1", text:sub(1, 10))
    assert.equal("\10\0\0\1\10\0\0\9\11\0", text:sub(13, 22))
    assert.equal("\0\0\0\0" .. UDP .. "pad", text:sub(25))
    text = error_about("10.0.0.1, unreachable, needfrag, PMTU 1400", about(UDP))
    assert.equal("\3\4", text:sub(21, 22))
    assert.equal("\0\0\5\120" .. UDP, text:sub(25))
    text = error_about("10.0.0.1, parameterproblem, erroratptr", about(UDP))
    assert.equal("\12\0", text:sub(21, 22))
    assert.equal("\20\0\0\0" .. UDP, text:sub(25))
    text = error_about("10.0.0.1, redirect, host", about(UDP))
    assert.equal("\5\1", text:sub(21, 22))
    assert.equal("\1\2\3\4" .. UDP, text:sub(25))
  end)

  it("annotates them", function ()
    local unit = click.unit("ICMPError(10.0.0.1, timeexceeded)", {time = 1000})
    local p = unit:pass(about(UDP, function (p) p.note8[note.PAINT] = 9 end))
    assert.equal(p.data_off, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 20, p.note16[note.TRANSPORT_HEADER])
    assert.equal("\10\0\0\9", ffi.string(p.note8 + 4 * note.DST_IP, 4))
    assert.same({1, 0}, {p.note8[note.FIX_IP_SRC], p.note8[note.PAINT]})
    assert.equal(1000, math.floor(tonumber(p.note64[note.TIMESTAMP]) / 1e9 + 0.5))
    packet.free(p)
    p = click.unit("ICMPError(10.0.0.1, timeexceeded, SET_FIX_ANNO 0)"):pass(about(UDP))
    assert.equal(0, p.note8[note.FIX_IP_SRC])
    packet.free(p)
  end)

  it("numbers them, and keeps to the MTU", function ()
    local unit = click.unit("ICMPError(10.0.0.1, timeexceeded, MTU 100)")
    local first = unit:send(about(UDP .. ("x"):rep(200)))[1][2]
    local second = unit:send(about(UDP))[1][2]
    assert.equal(100, #first)
    assert.same({1, 2}, {first:byte(6), second:byte(6)})
    unit:write("mtu", "200")
    assert.equal(200, #unit:send(about(UDP .. ("x"):rep(200)))[1][2])
    assert.equal("200", unit:read("mtu"))
    assert.is_nil(unit:write("src", "10.0.0.2"))
    assert.equal("10.0.0.2", unit:read("src"))
    unit:free()
  end)

  it("numbers those of all of a router's together, as Click does", function ()
    local r = click.run([[InfiniteSource(hello, 4, STOP true)
      -> UDPIPEncap(10.0.0.1, 5000, 10.0.0.2, 53) -> s :: RoundRobinSwitch;
      s[0] -> ICMPError(10.0.0.9, timeexceeded) -> p :: Print(MAXLENGTH 6) -> Discard;
      s[1] -> ICMPError(10.0.0.8, unreachable) -> p]])
    local numbers = {}
    for i, line in ipairs(r.said) do numbers[i] = line:match("(%w%w%w%w)$") end
    assert.same({"0001", "0002", "0003", "0004"}, numbers)
    r:close()
  end)

  it("makes none that it mustn't", function ()
    local config = "10.0.0.1, timeexceeded, 0, 192.0.2.255 10.0.0.255"
    local function none(text, change)
      local out, reason = error_about(config, about(text, change))
      assert.is_nil(out)
      assert.equal("no error for this", reason)
    end
    none(changed(UDP, 16, "\255\255\255\255")) -- to all
    none(changed(UDP, 16, "\224\0\0\1"))
    none(changed(UDP, 16, "\192\0\2\255"))
    none(changed(UDP, 12, "\10\0\0\255")) -- from bad ones
    none(changed(UDP, 12, "\0\0\0\1"))
    none(changed(UDP, 12, "\127\0\0\1"))
    none(changed(UDP, 12, "\240\0\0\1"))
    none(changed(UDP, 6, "\0\1")) -- not the first fragment
    none(changed(changed(UDP, 9, "\1"), 20, "\3")) -- an error
    none(changed(UDP, 9, "\1"):sub(1, 23))
    none(UDP:sub(1, 19))
    none(changed(UDP, 0, "\74"))
    none(UDP, function (p) p.note8[note.PACKET_TYPE] = note.BROADCAST end)
    none(UDP, function (p) p.note8[note.PACKET_TYPE] = note.MULTICAST end)
    none(UDP, function (p) p.note16[note.NETWORK_HEADER] = 0 end)
    assert.is_string(error_about(config, about(changed(UDP, 6, "\32\0"))))
    local echo = changed(changed(UDP, 9, "\1"), 20, "\8")
    assert.is_string(error_about(config, about(echo)))
  end)

  it("sends them back along a source route", function ()
    local route = "\137\19\16\1\0\0\1\2\0\0\2\3\0\0\3\4\0\0\4\0"
    local text = "\74" .. UDP:sub(2, 20) .. route .. UDP:sub(21)
    local out = error_about("10.0.0.1, timeexceeded", about(text))
    -- three were passed; the way back goes through them from the last on
    assert.equal("\137\15\4\3\0\0\3\2\0\0\2\1\0\0\1\0", out:sub(21, 36))
    assert.equal(0x49, out:byte(1))
    assert.is_nil((error_about("10.0.0.1, redirect, host", about(text))))
    out = error_about("10.0.0.1, parameterproblem", about(text)) -- about the route
    assert.equal(0x45, out:byte(1))
  end)

  it("checks its arguments", function ()
    local function errors(config)
      return click.unit("ICMPError(" .. config .. ")").errors
    end
    assert.same({"ICMP type 8 is not an error type"}, errors("10.0.0.1, echo"))
    assert.same({"argument 2 takes ICMP code (integer between 0 and 255)"},
      errors("10.0.0.1, unreachable, transit"))
    assert.same({"TYPE: out of range, bound 255"}, errors("10.0.0.1, 256"))
    assert.same({"TYPE: invalid number"}, errors("10.0.0.1, nonsense"))
    assert.same({}, errors("10.0.0.1, 3, 15"))
  end)
end)
