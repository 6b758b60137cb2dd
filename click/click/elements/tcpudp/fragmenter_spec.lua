-- SPDX-License-Identifier: Apache-2.0
-- TCPFragmenter, against what Click makes of the same packets.

local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local ETHERNET = "\2\0\0\0\0\1\2\0\0\0\0\2\8\0"
local TEXT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz012345678\0\0"

-- A segment with an option and these flags, its IP header 14 bytes in.
local function segment(text, flags, protocol, fragment)
  local p = packet.from_string(ETHERNET .. "\69\16\0" .. string.char(44 + #text)
    .. "\18\52\0" .. (fragment or "\0") .. "\64" .. (protocol or "\6") .. "\0\0"
    .. "\10\0\0\1\10\0\0\2" .. "\0\80\0\90\255\255\255\250\0\0\0\7\96"
    .. string.char(flags) .. "\16\0\0\0\0\0\2\4\5\0" .. text)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off + 14
  wire.barrier()
  return p
end

local function send(unit, p)
  local list = {}
  for i, out in ipairs(unit:send(p)) do list[i] = out[2] end
  unit:free()
  return list
end

-- As Click has it: the length, IP's checksum, the number's last bytes, flags, TCP's
-- checksum, and text.
local function expected(length, ip_sum, number, flags, tcp_sum, text)
  return ETHERNET .. "\69\16\0" .. string.char(length) .. "\18\52\0\0\64\6" .. ip_sum
    .. "\10\0\0\1\10\0\0\2" .. "\0\80\0\90" .. number .. "\0\0\0\7\96" .. flags
    .. "\16\0" .. tcp_sum .. "\0\0\2\4\5\0" .. text
end

describe("TCPFragmenter", function ()
  it("cuts a segment into several", function ()
    local unit = click.unit("TCPFragmenter(MTU 64)")
    assert.same({
      expected(64, "\84\114", "\255\255\255\250", "\24", "\141\17", TEXT:sub(1, 20)),
      expected(64, "\84\114", "\0\0\0\14", "\24", "\154\11", TEXT:sub(21, 40)),
      expected(64, "\84\114", "\0\0\0\34", "\24", "\236\73", TEXT:sub(41, 60)),
      expected(47, "\84\131", "\0\0\0\54", "\25", "\59\215", TEXT:sub(61)),
    }, send(unit, segment(TEXT:sub(1, 61) .. TEXT:sub(62, 63), 25)))
    assert.same({4, 1, 1}, {unit:read("fragments"), unit:read("fragmented_count"),
      unit:read("count")})
  end)

  it("takes the smaller of MTU and annotation", function ()
    local function lengths(text, mtu)
      local unit = click.unit(("TCPFragmenter(%s)"):format(text))
      local p = segment(TEXT, 16)
      p.note16[note.FIRST / 2 + 12] = mtu
      wire.barrier()
      local list = send(unit, p)
      for i, bytes in ipairs(list) do list[i] = #bytes - 14 end
      return list
    end
    assert.same({84, 67}, lengths("MTU 0, MTU_ANNO 24", 84))
    assert.same({84, 67}, lengths("MTU 100, MTU_ANNO 24", 84))
    assert.same({100, 51}, lengths("MTU 100, MTU_ANNO 24", 120))
    assert.same({107}, lengths("MTU 0, MTU_ANNO 24", 0))
    assert.same({107}, lengths("MTU 107", 0))
    assert.same({107}, lengths("MTU 44", 0)) -- no room for a byte
  end)

  it("leaves alone what isn't a whole segment", function ()
    for _, p in ipairs{segment(TEXT, 25, "\17"), segment(TEXT, 25, "\6", "\1"),
      packet.from_string(("x"):rep(90))} do
      if p.length == 90 then note.clear(p) end
      assert.equal(1, #send(click.unit("TCPFragmenter(MTU 64)"), p))
    end
    local short = segment(TEXT, 25)
    short.length = short.length - 1 -- than its header says
    assert.equal(1, #send(click.unit("TCPFragmenter(MTU 64)"), short))
    local offset = segment(TEXT, 25)
    offset.data[14 + 20 + 12] = 0xf0
    assert.equal(2, #send(click.unit("TCPFragmenter(MTU 100)"), offset))
    local whole = segment("", 25)
    whole.data[14 + 20 + 12] = 0xf0 -- longer than the packet
    assert.equal(1, #send(click.unit("TCPFragmenter(MTU 40)"), whole))
  end)

  it("needs an MTU", function ()
    assert.same({"At least one of MTU and MTU_ANNO must be set"},
      click.unit("TCPFragmenter(0)").errors)
  end)
end)
