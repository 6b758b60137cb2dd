-- SPDX-License-Identifier: Apache-2.0
-- Numbers in network order against string.char, at any address; and EtherTypes, which
-- stand in two languages, against each other.

local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")
local bytes = require("net.wire.bytes")
local ether_type = require("net.wire.ether_type")
local main = require("core.main")

describe("net.wire.bytes", function ()
  local p = ffi.new("uint8_t[?]", 16) -- [?]: see doc/jit.md

  local function at(i, n) return ffi.string(p + i, n) end

  it("reads the most significant byte first, at any address", function ()
    for i = 0, 3 do
      ffi.copy(p + i, "\254\220\186\152", 4)
      assert.equal(0xfedc, bytes.read16(p + i))
      assert.equal(0xfedcba98, bytes.read32(p + i))
      ffi.copy(p + i, "\254\220\186\152\118\84", 6)
      assert.equal(0xfedcba987654, bytes.read48(p + i))
    end
  end)

  it("exchanges so many bytes and no more", function ()
    ffi.copy(p, "aaaaaa.bbbbbb.")
    bytes.swap(p, p + 7, 6)
    assert.equal("bbbbbb.aaaaaa.", at(0, 14))
    bytes.swap(p, p + 7, 4)
    assert.equal("aaaabb.bbbbaa.", at(0, 14))
  end)

  it("writes so, and nothing beside", function ()
    for i = 1, 4 do
      ffi.fill(p, 16, 0x55)
      bytes.write16(p + i, 0x12fedc)
      assert.equal("\x55\xfe\xdc\x55", at(i - 1, 4))
      bytes.write32(p + i, 0xfedcba98)
      assert.equal("\x55\xfe\xdc\xba\x98\x55", at(i - 1, 6))
      bytes.write48(p + i, 0xfedcba987654)
      assert.equal("\x55\xfe\xdc\xba\x98\x76\x54\x55", at(i - 1, 8))
      bytes.write32(p + i, 0xfedcba98)
      assert.equal(0xfedcba98, bytes.read32(p + i))
    end
  end)
end)

describe("net.wire.ethernet", function ()
  it("counts what is around a frame, which is padded (IEEE 802.3)", function ()
    assert.equal(1e10, 14880952.38095238 * ethernet.bits(60))
    assert.equal(672, ethernet.bits(14))
    assert.equal(12304, ethernet.bits(1514))
  end)
end)

describe("net.wire.tcp_flag", function ()
  it("has the numbers of wire.h", function ()
    local file = assert(io.open(main.root .. "/src/net/wire/wire.h"))
    local text = file:read("*a"):match("enum (%b{})[^{]*/%* RFC 9293, section 3.1")
    file:close()
    for name, value in pairs(require("net.wire.tcp_flag")) do
      assert.equal(value, tonumber(text:match(("TCP_%s%%w* = (%%d+)"):format(name))
        or text:match(("TCP_%s_FLAG = (%%d+)"):format(name))), name)
    end
  end)
end)

describe("net.wire.ether_type", function ()
  it("has the numbers of wire.h", function ()
    local file = assert(io.open(main.root .. "/src/net/wire/wire.h"))
    local text, n = file:read("*a"), 0
    file:close()
    local names = {["8021Q"] = "VLAN", ["8021AD"] = "QINQ"}
    for name, value in text:gmatch("TYPE_(%w+) = (0x%x+)") do
      assert.equal(tonumber(value), ether_type[names[name] or name], name)
      n = n + 1
    end
    assert.equal(7, n)
  end)

  it("takes both TPIDs for tags, and nothing else", function ()
    assert.same({[0x8100] = true, [0x88a8] = true}, ether_type.TAGS)
  end)
end)
