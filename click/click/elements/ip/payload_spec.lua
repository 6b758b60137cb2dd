-- SPDX-License-Identifier: Apache-2.0
-- EraseIPPayload and TruncateIPPayload; Block and CompareBlock.

local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

-- A packet of IPv4 behind `front` bytes, with its header noted; `words`: of the header.
local function ip(protocol, l4, front, words)
  front = front or ""
  local p = packet.from_string(front .. string.char(0x40 + (words or 5)) .. "\0\0"
    .. string.char(20 + #l4) .. ("\0"):rep(5) .. string.char(protocol) .. ("\0"):rep(10)
    .. l4)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off + #front
  return p
end

local UDP = "\1\2\3\4\0\14\9\9"
local TCP = ("\1"):rep(12) .. "\96" .. ("\1"):rep(3) .. "\9\9" .. ("\1"):rep(6)

-- What comes out behind the IP header.
local function behind(unit, p, header)
  local out = unit:send(p)
  return out[1] and out[1][2]:sub((header or 20) + 1)
end

describe("EraseIPPayload", function ()
  it("erases what is behind TCP's and UDP's header, and the checksum", function ()
    local unit = click.unit("EraseIPPayload")
    assert.equal("\1\2\3\4\0\14\0\0" .. ("\0"):rep(6), behind(unit, ip(17, UDP .. ""
      .. "secret")))
    assert.equal(TCP:sub(1, 16) .. "\0\0" .. TCP:sub(19) .. "\0\0\0",
      behind(unit, ip(6, TCP .. "abc")))
    assert.equal("echo", behind(unit, ip(1, "echo")))
    assert.equal("\1\2", behind(unit, ip(17, "\1\2"))) -- of a header cut short
    assert.is_nil(behind(unit, ip(47, "gre")))
    assert.same({}, unit:send("no header"))
    assert.same({["no TCP, UDP or ICMP"] = 1, ["no IPv4 header"] = 1}, unit.lost)
    unit:free()
  end)
end)

describe("TruncateIPPayload", function ()
  it("cuts behind the headers, and notes how much", function ()
    local unit = click.unit("TruncateIPPayload(2)")
    assert.equal(UDP .. "se", behind(unit, ip(17, UDP .. "secret")))
    assert.equal(TCP .. "se", behind(unit, ip(6, TCP .. "secret", "ether"), 25))
    assert.equal(("i"):rep(8) .. "as", behind(unit, ip(1, ("i"):rep(8) .. "ask")))
    assert.equal("pa", behind(unit, ip(47, "payload")))
    assert.equal(4, unit.packets[1].note32[note.EXTRA_LENGTH])
    assert.same({{1, "ab"}}, unit:send("abcd")) -- of no IP
    unit:free()
  end)

  it("cuts behind IP's header alone, or notes nothing", function ()
    local unit = click.unit("TruncateIPPayload(1, false, EXTRA_LENGTH false)")
    assert.equal("\1", behind(unit, ip(17, UDP)))
    assert.equal(0, unit.packets[1].note32[note.EXTRA_LENGTH])
    assert.equal("\1", behind(unit, ip(17, UDP, "", 3))) -- a header of 12 bytes: 20
    unit:free()
  end)
end)

describe("Block and CompareBlock", function ()
  local function output(unit, forward, reverse)
    local p = ip(17, UDP)
    p.note32[note.FWD_RATE], p.note32[note.REV_RATE] = forward, reverse
    return unit:send(p)[1][1]
  end

  it("send packets out by rates", function ()
    local unit = click.unit("Block(500)", {outputs = 2})
    assert.equal(1, output(unit, 500, 0))
    assert.equal(2, output(unit, 501, 0))
    assert.is_nil(unit:write("thresh", "0"))
    assert.equal(1, output(unit, 501, 0))
    unit:free()
    unit = click.unit("CompareBlock(5, 2, 100)", {outputs = 2})
    assert.equal(1, output(unit, 100, 0))
    assert.equal(2, output(unit, 101, 0))
    assert.equal(1, output(unit, 101, 253))
    assert.equal(2, output(unit, 101, 252))
    assert.equal("5", tostring(unit:read("fwd_weight")))
    unit:free()
  end)
end)
