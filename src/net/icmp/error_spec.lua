-- SPDX-License-Identifier: Apache-2.0
-- ICMP errors against those that Scapy makes, and which packets get none. Click's and
-- the lwAFTR's tests have theirs.

local C = require("core.declare")("net/icmp/icmp.h")
local ffi = require("ffi")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

local hex = require("net.wire.bytes").from_hex

-- Scapy: IP(src="10.0.0.2", dst="10.0.0.1", ttl=1, id=5)/UDP(sport=1, dport=2)/"odd",
-- and IP(src="192.0.2.1", dst="10.0.0.2", ttl=255, id=7)/ICMP(type=3, code=4,
-- nexthopmtu=1400) about it; the same over IPv6, and ICMPv6PacketTooBig(mtu=1280).
local UDP4 = hex[[4500001f 00050000 0111a5c7 0a000002 0a000001 00010002 000b186e]]
  .. "odd"
local ERROR4 = hex[[4500003b 00070000 ff01efb7 c0000201 0a000002 03040ba3 00000578]]
local UDP6 = hex[[60000000 000b1101 20010db8000000000000000000000002
  20010db8000000000000000000000001 00010002 000bd0fb]] .. "odd"
local ERROR6 = hex[[60000000 003b3aff 20010db8000000000000000000000009
  20010db8000000000000000000000002 02002c1d 00000500]]

local function buffer(text)
  local b = ffi.new("uint8_t[?]", #text)
  ffi.copy(b, text, #text)
  return b
end

local out = ffi.new("uint8_t[256]")

describe("net.icmp's errors", function ()
  it("are those of Scapy", function ()
    local about = buffer(UDP4)
    C.pg_icmp4_error(out, 20, 7, 255, ffi.cast("uint32_t *", buffer("\192\0\2\1"))[0],
      about + 12, ffi.new("struct icmp_kind", 3, 4, 1400), about, #UDP4)
    assert.equal(ERROR4 .. UDP4, ffi.string(out, #ERROR4 + #UDP4))
    about = buffer(UDP6)
    C.pg_icmp6_error(out, buffer(ERROR6:sub(9, 24)), about + 8,
      ffi.new("struct icmp_kind", 2, 0, 1280), 0, about, #UDP6)
    assert.equal(ERROR6 .. UDP6, ffi.string(out, #ERROR6 + #UDP6))
  end)

  it("aren't about errors, groups, fragments, and nobody: IPv4", function ()
    local function deserves(text) return C.pg_icmp4_deserves(buffer(text), #text) end
    local function icmp(type_)
      return changed(changed(UDP4, 9, "\1"), 20, string.char(type_))
    end
    assert.is_true(deserves(UDP4))
    assert.is_true(deserves(changed(UDP4, 6, "\32\0"))) -- the first fragment
    for _, type_ in ipairs{0, 8, 13, 35, 36, 43} do
      assert.is_true(deserves(icmp(type_)), type_)
    end
    for _, type_ in ipairs{3, 4, 5, 11, 12} do
      assert.is_false(deserves(icmp(type_)), type_)
    end
    assert.is_false(deserves(icmp(8):sub(1, 23)))
    for what, text in pairs{
      ["a fragment"] = changed(UDP4, 6, "\0\1"),
      ["one far on"] = changed(UDP4, 6, "\16\0"),
      ["to a group"] = changed(UDP4, 16, "\239"),
      ["to all"] = changed(UDP4, 16, ("\255"):rep(4)),
      ["from a group"] = changed(UDP4, 12, "\224"),
      ["class E"] = changed(UDP4, 12, "\240"),
      ["from this network"] = changed(UDP4, 12, "\0"),
      ["from this host"] = changed(UDP4, 12, "\127"),
    } do
      assert.is_false(deserves(text), what)
    end
  end)

  it("aren't about errors, groups and nobody: IPv6", function ()
    local function deserves(text, type_, code)
      return C.pg_icmp6_deserves(buffer(text), #text, type_ or 1, code or 0)
    end
    local function icmp(type_)
      return changed(changed(UDP6, 6, "\58"), 40, string.char(type_))
    end
    assert.is_true(deserves(UDP6))
    for _, type_ in ipairs{128, 129, 135, 255} do
      assert.is_true(deserves(icmp(type_)), type_)
    end
    for _, type_ in ipairs{0, 1, 4, 127, 137} do
      assert.is_false(deserves(icmp(type_)), type_)
    end
    assert.is_false(deserves(icmp(128):sub(1, 40)))
    assert.is_false(deserves(changed(UDP6, 8, "\255")))
    assert.is_false(deserves(changed(UDP6, 8, ("\0"):rep(16))))
    local to_group = changed(UDP6, 24, "\255")
    assert.same({false, true, false, true}, {deserves(to_group, 1, 0),
      deserves(to_group, 2, 0), deserves(to_group, 4, 1), deserves(to_group, 4, 2)})
  end)
end)
