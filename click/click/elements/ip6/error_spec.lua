-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

local A = "\32\1\13\184\0\0\0\0\0\0\0\0\0\0\0\1"
local B = "\32\1\13\184\0\0\0\0\0\0\0\0\0\0\0\2"
local ME = "\32\1\13\184\0\0\0\0\0\0\0\0\0\0\0\9"
-- Scapy: IPv6(src=A, dst=B, hlim=9)/UDP(sport=1, dport=2)/"data"
local UDP = "\96\0\0\0\0\12\17\9" .. A .. B .. "\0\1\0\2\0\12\203\155data"

local function about(text, change)
  local p = packet_bytes.noted(text)
  ffi.copy(p.note8 + note.DST_IP6, ME:sub(1, 15) .. "\7", 16)
  if change then change(p) end
  return p
end

local function out(config, text, change)
  local unit = click.unit("ICMP6Error(2001:db8::9, " .. config .. ")")
  assert.same({}, unit.errors)
  local result = unit:send(about(text, change))[1]
  unit:free()
  return result and result[2]
end

describe("ICMP6Error", function ()
  it("makes errors with the packet in them", function ()
    -- Scapy: IPv6(src=ME, dst=A, hlim=255)/ICMPv6TimeExceeded()/UDP, and so on
    local header = "\96\0\0\0\0\60\58\255" .. ME .. A
    assert.equal(header .. "\3\0\48\21\0\0\0\0" .. UDP, out("3, 0", UDP))
    assert.equal(header .. "\2\0\43\57\0\0\5\220" .. UDP, out("2, 0", UDP))
    assert.equal("\96\0\0\0\0\92\58\255" .. ME .. A .. "\137\0\78\121\0\0\0\0"
      .. ME:sub(1, 15) .. "\7" .. B .. UDP, out("137, 0", UDP))
    assert.equal(40 + 8 + 568, #out("1, 4", UDP .. ("x"):rep(2000)))
  end)

  it("annotates them", function ()
    local p = click.unit("ICMP6Error(2001:db8::9, 3, 0)"):pass(about(UDP))
    assert.equal(A, ffi.string(p.note8 + note.DST_IP6, 16))
    assert.equal(1, p.note8[note.FIX_IP_SRC])
    assert.equal(p.data_off + 40, p.note16[note.TRANSPORT_HEADER])
    packet.free(p)
  end)

  it("makes none that it mustn't", function ()
    assert.is_nil(out("3, 0", changed(UDP, 24, 0xff)))
    assert.is_nil(out("3, 0", changed(UDP, 8, 0xff)))
    assert.is_nil(out("3, 0", changed(changed(UDP, 6, 58), 40, 1)))
    assert.is_nil(out("3, 0", changed(changed(UDP, 6, 58), 40, 137)))
    assert.is_string(out("3, 0", changed(changed(UDP, 6, 58), 40, 128)))
    assert.is_nil(out("3, 0", UDP:sub(1, 39)))
    assert.is_nil(out("3, 0", UDP, function (p)
      p.note8[note.PACKET_TYPE] = note.MULTICAST
    end))
    assert.same({"ICMP6 type 128 is not an error or redirect type"},
      click.unit("ICMP6Error(::1, 128, 0)").errors)
  end)
end)
