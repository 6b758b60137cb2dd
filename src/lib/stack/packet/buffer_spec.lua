-- SPDX-License-Identifier: Apache-2.0
-- libmoon's methods on packets: the packet under them stays what it was.

local ffi = require("ffi")
local packet = require("core.packet")
local casts = require("lib.stack.packet.ready_casts")
local methods = require("lib.stack.packet.buffer")
local testing = require("testing.support")

local function udp()
  local p = packet.from_string(("\0"):rep(60))
  p:getUdpPacket():fill{udpSrc = 1234, ip4Dst = "192.0.2.9", pktLength = 60}
  return p
end

describe("a packet", function ()
  it("has every ready cast", function ()
    local p, n = udp(), 0
    for name in pairs(casts) do
      local pkt = p[name](p)
      assert.is_true(pkt.packet == p, name)
      assert.equal(60, pkt.length)
      n = n + 1
    end
    assert.is_true(n > 40)
    assert.is_not_nil(p:getUdpPacket():getHeader("ip4"))
    assert.is_nil(p:getUdpPacket(false):getHeader("ip4"))
    assert.is_not_nil(p:getUdpPacket(false):getHeader("ip6"))
    packet.free(p)
  end)

  it("is resolved and written", function ()
    local p = udp()
    assert.equal(1234, p:get().udp:getSrcPort())
    assert.equal("192.0.2.9", p:get().ip4:getDstString())
    local written = {}
    local stream = {write = function (_, ...)
      for _, s in ipairs{...} do written[#written + 1] = s end
    end}
    local text = p:dump(0, stream)
    assert.matches("192%.0%.2%.9", text)
    assert.matches("192%.0%.2%.9", table.concat(written))
    packet.free(p)
  end)

  it("has bytes and a size", function ()
    local p = packet.from_string("abc")
    assert.is_true(p:getBytes() == p.data)
    assert.is_true(ffi.istype("void *", p:getData()))
    assert.is_true(ffi.cast("uint8_t *", p:getData()) == p.data)
    assert.equal(3, p:getSize())
    p:setSize(2)
    assert.equal(2, p.length)
    p:setRawPacket("wxyz\0")
    assert.equal("wxyz\0", ffi.string(p.data, p.length))
    local most = packet.max_payload
    p:setRawPacket(("m"):rep(most))
    assert.equal(most, p:getSize())
    for _, bad in ipairs{-1, most + 1, 0 / 0} do
      assert.error_matches(function () p:setSize(bad) end, "0 to " .. most)
    end
    assert.error_matches(function () p:setRawPacket(("m"):rep(most + 1)) end, "0 to ")
    assert.error_matches(function () p:setRawPacket(12) end, "string, not a number")
    assert.equal(most, p:getSize())
    packet.free(p)
  end)

  it("says what it doesn't have", function ()
    local p = packet.from_string("")
    assert.error_matches(function () return p.lenght end, "no field 'lenght'")
    packet.free(p)
  end)
end)

describe("the packet path", function ()
  local function fast(p, n)
    local sum = 0
    for i = 1, n do
      p:getUdpPacket().udp:setSrcPort(i % 1000)
      sum = sum + p:getUdpPacket().udp:getSrcPort() + p:getBytes()[0] * 0 + p:getSize()
      p:setSize(60)
    end
    return sum
  end

  it("stays compiled after any number of slow calls", function ()
    local p = udp()
    local function slow()
      for _ = 1, 200000 do
        methods.getUdpPacket(p)
        local _ = p:getBytes() - p.data + p:getSize()
        p:setSize(60)
        p:offloadUdpChecksum()
      end
    end
    jit.off(slow)
    slow()
    local given_up, sum = testing.given_up(fast, p, 10000)
    assert.equal(0, given_up)
    assert.equal(10 * 999 * 500 + 60 * 10000, sum)
    packet.free(p)
  end)
end)
