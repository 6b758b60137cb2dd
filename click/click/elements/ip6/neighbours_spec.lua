-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

local A = "\32\1\13\184\0\0\0\0\0\0\0\0\0\0\0\1"
local B = "\32\1\13\184\0\0\0\0\0\0\0\0\0\0\0\2"
local MAC_A, MAC_B = "\2\0\0\0\0\1", "\2\0\0\0\0\2"
-- Scapy: Ether(dst="33:33:ff:00:00:02", src=MAC_A) / IPv6(src=A, dst="ff02::1:ff00:2",
--   hlim=255) / ICMPv6ND_NS(tgt=B) / ICMPv6NDOptSrcLLAddr(lladdr=MAC_A)
local QUESTION = "\51\51\255\0\0\2" .. MAC_A .. "\134\221\96\0\0\0\0\32\58\255" .. A
  .. "\255\2\0\0\0\0\0\0\0\0\0\1\255\0\0\2\135\0\28\39\0\0\0\0" .. B .. "\1\1" .. MAC_A
-- Ether(dst=MAC_A, src=MAC_B) / IPv6(src=B, dst=A, hlim=255) /
--   ICMPv6ND_NA(R=1, S=1, O=0, tgt=B) / ICMPv6NDOptDstLLAddr(lladdr=MAC_B)
local ANSWER = MAC_A .. MAC_B .. "\134\221\96\0\0\0\0\32\58\255" .. B .. A
  .. "\136\0\42\113\192\0\0\0" .. B .. "\2\1" .. MAC_B

local function to(address, text)
  local p = packet.from_string(text or "ip6")
  note.clear(p)
  ffi.copy(p.note8 + note.DST_IP6, address, 16)
  return p
end

describe("IP6NDAdvertiser", function ()
  it("answers for its addresses", function ()
    local unit = click.unit(
      "IP6NDAdvertiser(2001:db8::/64 2:0:0:0:0:9, 2001:db8::2/128 2:0:0:0:0:2)")
    assert.same({}, unit.errors)
    assert.same({{1, ANSWER}}, unit:send(QUESTION .. "padding"))
    local other = click.unit("IP6NDAdvertiser(2001:db8::/64 2:0:0:0:0:9)")
    assert.equal("\2\0\0\0\0\9", other:send(QUESTION)[1][2]:sub(7, 12))
    unit:free()
    other:free()
  end)

  it("says that nobody believes a group's address", function ()
    local unit = click.unit("IP6NDAdvertiser(2001:db8::/64 33:33:0:0:0:1)")
    assert.same({"33-33-00-00-00-01 is a group's address, which nobody believes "
      .. "2001:db8::/64 to have"}, unit.warnings)
    unit:free()
  end)

  it("drops what it has no answer for", function ()
    local unit = click.unit("IP6NDAdvertiser(2001:db8::3 2:0:0:0:0:2)")
    for _, text in ipairs{QUESTION, ANSWER, QUESTION:sub(1, -2),
        changed(QUESTION, 21, 254), changed(QUESTION, 57, 0), ""} do
      assert.same({}, unit:send(text))
    end
    assert.same({["no answer"] = 6}, unit.lost)
  end)

  it("checks its arguments", function ()
    assert.same({"argument 0 had no IP6 address and masks",
      "argument 1 should be 'IP6/MASK ETHADDR'"},
      click.unit("IP6NDAdvertiser(1:1:1:1:1:1, ::1 x)").errors)
  end)
end)

describe("IP6NDSolicitor", function ()
  local unit

  before_each(function ()
    unit = click.unit("IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1)",
      {inputs = 2, outputs = 2})
  end)
  after_each(function ()
    unit:free()
    unit.element:cleanup()
  end)

  it("asks, keeps the packet, and sends it when it knows", function ()
    assert.same({{2, QUESTION}}, unit:send(to(B)))
    assert.equal("2001:db8::2 0 00-00-00-00-00-00\n", unit:read("table"))
    assert.same({{1, MAC_B .. MAC_A .. "\134\221ip6"}}, unit:send(ANSWER, 2))
    assert.same({{1, MAC_B .. MAC_A .. "\134\221b"}}, unit:send(to(B, "b")))
    assert.equal("2001:db8::2 1 02-00-00-00-00-02\n", unit:read("table"))
  end)

  it("keeps one packet for an address", function ()
    unit:send(to(B, "first"))
    assert.equal(1, #unit:send(to(B, "second")))
    assert.same({{1, MAC_B .. MAC_A .. "\134\221second"}}, unit:send(ANSWER, 2))
    assert.equal("1 packets killed\n2 ND Solicitation Message sent\n",
      unit:read("stats"))
  end)

  it("asks again after a minute, and forgets after two", function ()
    unit:send(to(B))
    unit:send(ANSWER, 2)
    unit:wait(80)
    assert.same({2, 1}, (function (out) return {out[1][1], out[2][1]} end)(
      unit:send(to(B))))
    assert.equal(1, #unit:send(to(B)))
    unit:wait(80)
    assert.equal("", unit:read("table"))
  end)

  it("takes no answer that it hasn't asked for", function ()
    assert.same({}, unit:send(ANSWER, 2))
    unit:send(to(B))
    for _, text in ipairs{QUESTION, ANSWER:sub(1, -2), changed(ANSWER, 21, 1)} do
      assert.same({}, unit:send(text, 2))
    end
    assert.same({["not an answer"] = 4}, unit.lost)
  end)
end)
