-- SPDX-License-Identifier: Apache-2.0
-- Stacks against literal bytes.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

local function hex(p)
  return (ffi.string(p.data, p.length):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

local function from_hex(text)
  return packet.from_string((text:gsub("%s", ""):gsub("%x%x", function (byte)
    return string.char(tonumber(byte, 16))
  end)))
end

local asVxlan = stack.createStack("eth", "ip4", "udp", "vxlan",
  {"eth", name = "innerEth"}, {"ip4", name = "innerIp4"}, "tcp")

local VXLAN = [[
  020000000002 020000000001 0800
  45000092000000004011000064000001c0a80102
  0400 12b5 007e 0000
  08000000 123456 00
  020000000009 020000000001 0800
  450000600000000040060000c0a80101c8000001
  04000401 00000000 00000000 5002ffff 00000000]]

describe("a stack", function ()
  local p
  before_each(function () p = packet.allocate() end)
  after_each(function () packet.free(p) end)

  local ARGUMENTS = {ip4Src = "100.0.0.1", innerEthDst = "02:00:00:00:00:09",
    innerIp4Dst = 0xc8000001, vxlanVNI = 0x123456, tcpSyn = 1, pktLength = 160}

  it("fills its headers with what is given, defaults and lengths", function ()
    local pkt = asVxlan(p)
    pkt:fill(ARGUMENTS)
    assert.equal(160, p.length)
    local bytes = VXLAN:gsub("%s", "")
    assert.equal(bytes, hex(p):sub(1, #bytes))
  end)

  it("is the packet itself under another type", function ()
    local pkt = asVxlan(p)
    pkt:fill(ARGUMENTS)
    assert.is_true(pkt.packet == p)
    assert.equal(160, pkt.length)
    pkt.length = 150
    assert.equal(150, p.length)
    assert.is_true(pkt.payload.uint8 + 0 == p.data + 104)
    assert.is_true(pkt.data == p.data)
  end)

  it("reads and writes fields in host byte order", function ()
    local pkt = asVxlan(p)
    pkt:fill(ARGUMENTS)
    assert.equal(0xc8000001, pkt.innerIp4:getDst())
    assert.equal("200.0.0.1", pkt.innerIp4:getDstString())
    assert.equal(4789, pkt.udp:getDstPort())
    assert.equal(0x123456, pkt.vxlan:getVNI())
    pkt.vxlan:setVNI(0xabcdef)
    pkt.tcp:setSeqNumber(0xfedcba98)
    assert.equal(0xfedcba98, pkt.tcp:getSeqNumber())
    assert.equal("abcdef", hex(p):sub(93, 98))
  end)
end)

describe("createStack", function ()
  it("makes a shape once", function ()
    assert.is_true(stack.createStack("eth", "ip4") == stack.createStack("eth", "ip4"))
    assert.is_false(stack.createStack("eth", "ip4") == stack.createStack("eth", "ip6"))
  end)

  it("says what is wrong", function ()
    local function refuses(sentence, ...)
      local ok, message = pcall(stack.createStack, ...)
      assert.is_false(ok)
      assert.matches(sentence, message, 1, true)
    end
    refuses("there is no protocol 'ipp4'; is 'ip4' meant?", "eth", "ipp4")
    refuses("two headers are called 'eth'", "eth", "eth")
    refuses("a header has no 'size'", {"eth", size = 3})
    refuses("ip4 has no subtype 'vlan'", {"ip4", subType = "vlan"})
    refuses("a multiple of 4", {"ip4", length = 3})
    refuses("udp has no variable part", {"udp", length = 4})
    refuses("a header can't be named 'payload'", {"udp", name = "payload"})
  end)
end)

describe("fill", function ()
  it("leaves the caller's table alone", function ()
    local p = from_hex("00")
    local arguments = {ip4Src = "10.0.0.1", pktLength = 100}
    local as = stack.createStack("eth", "ip4", "udp")
    as(p):fill(arguments)
    assert.same({ip4Src = "10.0.0.1", pktLength = 100}, arguments)
    assert.equal(66, as(p).udp:getLength())
    arguments.pktLength = 200
    as(p):fill(arguments)
    assert.equal(166, as(p).udp:getLength())
    packet.free(p)
  end)

  it("refuses labels that there aren't and values that don't fit", function ()
    local p = packet.allocate()
    local pkt = stack.createStack("eth", "ip4", "udp")(p)
    local function refuses(sentence, arguments)
      local ok, message = pcall(pkt.fill, pkt, arguments)
      assert.is_false(ok)
      assert.matches(sentence, message, 1, true)
    end
    refuses("there is no field 'ip4Sr'; is 'ip4Src' meant?", {ip4Sr = 1})
    refuses("ip4TTL: 256 doesn't fit its 8 bits (0 to 255)", {ip4TTL = 256})
    refuses("ip4Src: '10.0.0.1x' isn't an IPv4 address", {ip4Src = "10.0.0.1x"})
    refuses("pktLength is '41'; with these headers it may be 42 to 10240",
      {pktLength = 41})
    packet.free(p)
  end)
end)
