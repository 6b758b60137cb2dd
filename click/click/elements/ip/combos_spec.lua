-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local packet_bytes = require("testing.packet_bytes")

-- Scapy: IP(src="10.0.0.1", dst="192.0.2.9", proto=9)/"data"
local PLAIN = "\69\0\0\24\0\1\0\0\64\9\174\210\10\0\0\1\192\0\2\9data"
local EXPIRING = "\69\0\0\24\0\1\0\0\1\9\237\210\10\0\0\1\192\0\2\9data"

local function noted(text, change)
  local p = packet_bytes.noted(text)
  if change then change(p) end
  return p
end

describe("IPInputCombo", function ()
  it("paints, strips and checks", function ()
    local unit = click.unit("IPInputCombo(3, 10.0.0.2 10.0.0.3)")
    assert.same({}, unit.errors)
    local p = unit:pass(("e"):rep(14) .. PLAIN .. "padding")
    assert.equal(24, p.length)
    assert.equal(3, p.note8[note.PAINT])
    assert.equal(p.data_off, p.note16[note.NETWORK_HEADER])
    packet.free(p)
    assert.same({}, unit:send(("e"):rep(14) .. PLAIN:sub(1, 23)))
    assert.same({}, unit:send("e"))
    assert.equal("2", unit:read("drops"))
    assert.same({"IP checksum failed"}, unit.said)
  end)

  it("checks sources", function ()
    local unit = click.unit("IPInputCombo(3, BADSRC 10.0.0.1, GOODDST 192.0.2.8)")
    assert.same({}, unit:send(("e"):rep(14) .. PLAIN))
    unit = click.unit("IPInputCombo(3, INTERFACES 10.0.0.1/31)")
    assert.same({}, unit:send(("e"):rep(14) .. PLAIN))
    unit = click.unit("IPInputCombo(3, INTERFACES 10.0.0.1/24)")
    assert.equal(1, #unit:send(("e"):rep(14) .. PLAIN))
    unit:free()
  end)
end)

describe("IPOutputCombo", function ()
  local unit

  -- The outputs that a packet leaves by.
  local function ways(text, change)
    local list = {}
    for i, out in ipairs(unit:send(noted(text, change))) do list[i] = out[1] end
    return list
  end

  before_each(function ()
    unit = click.unit("IPOutputCombo(2, 10.0.0.9, 30)", {outputs = 5})
  end)
  after_each(function () unit:free() end)

  it("does what a router does with what goes out", function ()
    assert.same({{1, PLAIN:sub(1, 8) .. "\63" .. PLAIN:sub(10, 10) .. "\175"
      .. PLAIN:sub(12)}}, unit:send(noted(PLAIN)))
    assert.same({4}, ways(EXPIRING))
    assert.same({5}, ways(PLAIN .. ("x"):rep(7)))
    assert.same({}, ways(PLAIN, function (p)
      p.note8[note.PACKET_TYPE] = note.BROADCAST
    end))
    assert.same({broadcast = 1}, unit.lost)
  end)

  it("sends a copy of what goes back where it came from", function ()
    local out = unit:send(noted(PLAIN, function (p) p.note8[note.PAINT] = 2 end))
    assert.same({2, 1}, {out[1][1], out[2][1]})
    assert.equal(PLAIN, out[1][2]) -- as it was
  end)

  it("sees to options and sources", function ()
    local out = unit:send(noted(PLAIN, function (p) p.note8[note.FIX_IP_SRC] = 1 end))
    assert.equal("\10\0\0\9", out[1][2]:sub(13, 16))
    assert.same({3}, ways("\70" .. PLAIN:sub(2, 20) .. "\7\9\4\0data"))
    assert.equal(21, unit.packets[#unit.packets].note8[note.ICMP_PARAMPROB])
    assert.same({}, ways(PLAIN, function (p) p.note16[note.NETWORK_HEADER] = 0 end))
  end)
end)
