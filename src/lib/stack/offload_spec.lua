-- SPDX-License-Identifier: Apache-2.0
-- What packets ask of devices: that it is refused where it makes no sense, and ends
-- with the packet. (test/test_offload.py looks at what is sent.)

local ffi = require("ffi")
local packet = require("core.packet")
require("lib.stack.offload")

-- UDP of 6 bytes over IPv4; both checksums are wrong.
local UDP4 = ("020000000002020000000001" .. "0800" .. "45000022000000004011dead"
  .. "c0000201c0000202" .. "12345678000edead" .. "616263646566")
  :gsub("%x%x", function (h) return string.char(tonumber(h, 16)) end)

local function frame(length)
  local p = packet.from_string(UDP4)
  if length then packet.resize(p, length) end
  return p
end

local function bytes(p)
  return ffi.string(p.data, p.length)
end

describe("an offload", function ()
  it("prepares the bytes as DPDK asks", function ()
    local p = frame()
    assert.is_true(p:offloadUdpChecksum())
    assert.equal("\0\0", ffi.string(p.data + 24, 2))
    -- 0xc000 + 0x0201 + 0xc000 + 0x0202 + 17 + 14, folded
    assert.equal("\132\35", ffi.string(p.data + 40, 2))
    assert.equal(14 + 20 * 128, tonumber(p.tx_offload))
    packet.free(p)
  end)

  it("is refused, and changes nothing, where the headers aren't there", function ()
    for _, ask in ipairs{
      function (p) return p:offloadTcpChecksum() end, -- too short for TCP
      function (p) return p:offloadUdpChecksum(false) end, -- not IPv6
      function (p) return p:offloadUdpChecksum(true, 18) end,
      function (p) return p:offloadUdpChecksum(true, 14, 24) end,
      function (p) return p:offloadIPChecksum(true, 100) end,
      function (p) return p:offloadIPChecksum(false) end,
    } do
      local p = frame()
      assert.is_false(ask(p))
      assert.equal(UDP4, bytes(p))
      assert.is_true(p.ol_flags == 0)
      packet.free(p)
    end
    for length = 0, 41 do
      local p = frame(length)
      assert.is_false(p:offloadUdpChecksum())
      assert.equal(UDP4:sub(1, length), bytes(p))
      packet.free(p)
    end
  end)

  it("says what the lengths may be", function ()
    local p = frame()
    for _, lengths in ipairs{{128}, {-1}, {14, 19}, {14, 512}, {0 / 0}} do
      assert.error_matches(function () p:offloadIPChecksum(true, unpack(lengths)) end,
        "0 to 127 bytes and has 20 to 511, not")
    end
    packet.free(p)
  end)

  it("is for one use of the packet's memory", function ()
    local p = frame()
    p:offloadUdpChecksum()
    p:setVlan(7)
    packet.free(p)
    for _ = 1, 3 do
      local q = packet.allocate()
      assert.is_true(q.ol_flags == 0)
      assert.is_nil(q:getVlan())
      packet.free(q)
    end
  end)

  it("is asked for by a clone, too; what came with a packet isn't", function ()
    local p = frame()
    p.ol_flags = 0x3 -- RTE_MBUF_F_RX_VLAN, RTE_MBUF_F_RX_RSS_HASH
    p:offloadUdpChecksum()
    local flags = p.ol_flags
    local q = packet.clone(p)
    assert.is_true(q.ol_flags == flags - 3)
    assert.is_true(q.tx_offload == p.tx_offload)
    packet.free(p)
    packet.free(q)
  end)
end)

describe("a VLAN tag", function ()
  it("has an identifier, a priority and a cfi", function ()
    local p = frame()
    assert.is_nil(p:getVlan())
    p:setVlan(4095, 7, 1)
    assert.same({4095, 7, 1}, {p:getVlan()})
    p:setVlan(1)
    assert.same({1, 0, 0}, {p:getVlan()})
    local q = packet.clone(p)
    assert.same({1, 0, 0}, {q:getVlan()})
    for _, bad in ipairs{{4096}, {-1}, {1, 8}, {1, 0, 2}, {0 / 0}} do
      assert.error_matches(function () p:setVlan(unpack(bad)) end,
        "0 to 4095")
    end
    packet.free(p)
    packet.free(q)
  end)
end)
