-- SPDX-License-Identifier: Apache-2.0
-- Snabb's checksums: frames whose checksums Scapy computed, each bit of which counts,
-- and lengths that lie.

local ffi = require("ffi")
local checksum = require("lib.checksum")

local function memory(hex)
  local text = require("net.wire.bytes").from_hex(hex)
  -- Allocated to the byte, so that a checker of memory sees what is read behind it.
  local buffer = ffi.new("uint8_t[?]", #text)
  ffi.copy(buffer, text, #text)
  return buffer, #text
end

local PACKETS = {
  tcp4 = "450000 2f000700 004006f6 bec00002 01c00002 0204d200 50010203 "
    .. "04000000 00500220 00718200 00616263 64656667",
  udp4 = "45 00002100 01000040 11f6c7c0 000201c0 00020204 d2003500 "
    .. "0d4d0261 62636465",
  tcp6 = "600000 00001b06 4020010d b8000000 00000000 00000000 0120010d "
    .. "b8000000 00000000 00000000 0204d200 50000000 00000000 00500220 "
    .. "009e1700 00616263 64656667",
  udp6 = "60 00000000 0d114020 010db800 00000000 00000000 00000120 "
    .. "010db800 00000000 00000000 00000204 d2003500 0d759161 62636465",
}

local prepare = {["4"] = checksum.prepare_packet4, ["6"] = checksum.prepare_packet6}

describe("ipsum", function ()
  it("is in host order, and goes on from another", function ()
    local p = memory("0001 f203 f4f5 f6f7")
    assert.equal(0x220d, checksum.ipsum(p, 8, 0))
    assert.equal(0, checksum.ipsum(p, 8, 0x220d))
    assert.equal(0x220d,
      checksum.ipsum(p + 4, 4, bit.bnot(checksum.ipsum(p, 4, 0))))
  end)
end)

for name, hex in pairs(PACKETS) do
  describe(name, function ()
    it("is right, and wrong with any bit turned", function ()
      local p, n = memory(hex)
      assert.is_true(checksum.verify_packet(p, n))
      assert.is_true(checksum.verify_packet(ffi.cast("char *", p), n))
      -- Version, length and protocol may make it another packet altogether.
      for i = 8, n - 1 do
        if i ~= 9 then
          p[i] = bit.bxor(p[i], 4)
          assert.is_false(checksum.verify_packet(p, n), "byte " .. i)
          p[i] = bit.bxor(p[i], 4)
        end
      end
    end)

    it("is prepared and finished", function ()
      local p, n = memory(hex)
      local right = ffi.string(p, n)
      local header = name:match("4") and 20 or 40
      local at = name:match("tcp") and 16 or 6
      p[header + at] = 0xde
      if name:match("4") then p[10] = 0xad end
      assert.same({header, at}, {prepare[name:match("%d")](p, n)})
      assert.is_false(checksum.verify_packet(p, n))
      checksum.finish_packet(p + header, n - header, at)
      assert.equal(right, ffi.string(p, n))
    end)

    it("is not right when it is cut short", function ()
      local p, n = memory(hex)
      for length = 0, n - 1 do
        assert.is_not_true(checksum.verify_packet(p, length))
      end
      for length = 0, n - 1 do
        local short = ffi.new("uint8_t[?]", length + 16)
        ffi.copy(short, p, length)
        ffi.fill(short + length, 16, 0x5a)
        prepare[name:match("%d")](short, length)
        assert.equal(("\x5a"):rep(16), ffi.string(short + length, 16))
      end
    end)
  end)
end

describe("verify_packet", function ()
  it("knows nothing of other protocols", function ()
    local p, n = memory(PACKETS.tcp4)
    p[9] = 1
    assert.is_nil(checksum.verify_packet(p, n))
    p[0] = 0x55
    assert.is_nil(checksum.verify_packet(p, n))
    assert.is_nil(checksum.verify_packet(p, 0))
  end)

  it("takes no account of what follows the packet", function ()
    local p, n = memory(PACKETS.udp4 .. "eeeeeeeeee")
    assert.is_true(checksum.verify_packet(p, n))
  end)

  it("lets UDP over IPv4 have no checksum", function ()
    for name, expected in pairs{udp4 = true, udp6 = false} do
      local p, n = memory(PACKETS[name])
      local header = name == "udp4" and 20 or 40
      p[header + 6], p[header + 7] = 0, 0
      assert.equal(expected, checksum.verify_packet(p, n))
    end
  end)
end)

describe("Snabb's C functions", function ()
  it("update a checksum with a word", function ()
    local p = ffi.cast("uint16_t *", (memory(PACKETS.tcp4)))
    ffi.C.checksum_update_incremental_16(p + 5, p + 2, 0xffff)
    assert.equal(0, ffi.C.cksum_generic(ffi.cast("uint8_t *", p), 20, 0))
    ffi.C.checksum_update_incremental_32(p + 5, ffi.cast("uint32_t *", p + 6),
      0xfedcba98)
    local b = ffi.cast("uint8_t *", p)
    assert.same({0xfe, 0xdc, 0xba, 0x98}, {b[12], b[13], b[14], b[15]})
    assert.equal(0, ffi.C.cksum_generic(b, 20, 0))
  end)
end)
