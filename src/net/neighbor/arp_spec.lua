-- SPDX-License-Identifier: Apache-2.0
-- ARP messages against those that Scapy makes.

local ffi = require("ffi")
local arp = require("net.neighbor.arp")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

local US, THEM, ALL = "\2\0\0\0\0\1", "\2\0\0\0\0\2", ("\255"):rep(6)
local OUR_IP, THEIR_IP = "\10\0\0\1", "\10\0\0\2"

-- Scapy: Ether(src=THEM, dst="ff:ff:ff:ff:ff:ff")/ARP(hwsrc=THEM, psrc=THEIR_IP,
-- pdst=OUR_IP), and the answer.
local REQUEST = ALL .. THEM .. "\8\6\0\1\8\0\6\4\0\1" .. THEM .. THEIR_IP
  .. ("\0"):rep(6) .. OUR_IP
local REPLY = THEM .. US .. "\8\6\0\1\8\0\6\4\0\2" .. US .. OUR_IP .. THEM .. THEIR_IP

local frame = ffi.new("uint8_t[64]")

local function operation(text)
  ffi.copy(frame, text)
  return arp.operation(frame, #text)
end

describe("net.neighbor.arp", function ()
  it("writes requests and replies", function ()
    arp.write(frame, arp.REQUEST, THEM, THEIR_IP, ALL, ("\0"):rep(6), OUR_IP)
    assert.equal(REQUEST, ffi.string(frame, 42))
    arp.write(frame, arp.REPLY, US, OUR_IP, THEM, THEM, THEIR_IP)
    assert.equal(REPLY, ffi.string(frame, 42))
  end)

  it("answers a request in its own frame", function ()
    ffi.copy(frame, REQUEST)
    arp.answer(frame, US)
    assert.equal(REPLY, ffi.string(frame, 42))
  end)

  it("tells requests from replies", function ()
    assert.equal(arp.REQUEST, operation(REQUEST))
    assert.equal(arp.REPLY, operation(REPLY .. ("\0"):rep(18)))
    assert.equal(9, operation(changed(REPLY, 20, "\0\9")))
  end)

  it("takes nothing else for messages", function ()
    for length = 0, 41 do assert.is_nil(operation(REQUEST:sub(1, length))) end
    for at, bytes in pairs{[12] = "\8\0", [14] = "\0\6", [16] = "\134\221", [18] = "\8",
      [19] = "\16"} do
      assert.is_nil(operation(changed(REQUEST, at, bytes)))
    end
  end)

  it("believes no sender that is a group", function ()
    for _, mac in ipairs{"\1\0\94\0\0\1", ALL} do
      assert.is_true(arp.is_group(mac))
      assert.is_nil(operation(changed(REQUEST, 22, mac)))
      assert.is_nil(operation(changed(REPLY, 22, mac)))
    end
    assert.is_false(arp.is_group(US))
  end)
end)
