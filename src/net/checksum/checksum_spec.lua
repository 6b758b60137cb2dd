-- SPDX-License-Identifier: Apache-2.0
-- Checksums against sums in plain Lua, the kernels against each other at all
-- lengths and alignments, and packets cut short within bytes that must not change.

local ffi = require("ffi")
local C = require("core.native")
local checksum = require("lib.stack.checksum")
local packet = require("core.packet")

local ROOM = 9000 + 64
local bytes = ffi.new("uint8_t[?]", ROOM)

local function randomize()
  for i = 0, ROOM - 1 do bytes[i] = math.random(0, 255) end
end

-- RFC 1071, section 1, taken literally.
local function plain(p, n, initial)
  local sum = initial or 0
  for i = 0, n - 1 do sum = sum + p[i] * (i % 2 == 0 and 256 or 1) end
  while sum > 0xffff do sum = sum % 65536 + math.floor(sum / 65536) end
  return 0xffff - sum
end

local function kernels()
  local i = -1
  return function ()
    i = i + 1
    local name = C.pg_checksum_kernel(i)
    if name ~= nil then return i, ffi.string(name) end
  end
end

local function hex(s)
  return (s:gsub("%s", ""):gsub("%x%x", function (h)
    return string.char(tonumber(h, 16))
  end))
end

local function word(p, offset)
  return p.data[offset] * 256 + p.data[offset + 1]
end

describe("the internet checksum", function ()
  it("is that of RFC 1071's example", function ()
    local data = ffi.new("uint8_t[8]", 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7)
    assert.equal(0xffff - 0xddf2, checksum.of(data, 8))
    assert.equal(0xffff, checksum.of(data, 0))
    assert.equal(0x0bad, checksum.of(data, 0, 0xffff - 0x0bad))
  end)

  it("is the same by all kernels, at any length and alignment", function ()
    local checked = 0
    for length = 0, 9000 do
      if length < 400 or length % 61 == 0 then
        if length % 100 == 0 then randomize() end
        local p, initial = bytes + math.random(0, 63), math.random(0, 0xffff)
        local expected = plain(p, length, initial)
        assert.equal(expected, checksum.of(p, length, initial))
        for i, name in kernels() do
          local sum = tonumber(C.pg_checksum_by(i, p, length, initial))
          if sum >= 0 then
            assert.equal(expected, sum, name .. " of " .. length)
            checked = checked + 1
          end
        end
      end
    end
    assert.is_true(checked >= 500)
  end)

  it("carries all there is to carry", function ()
    ffi.fill(bytes, ROOM, 0xff)
    for length = 0, 600 do
      for i, name in kernels() do
        local sum = tonumber(C.pg_checksum_by(i, bytes + length % 3, length, 0xffff))
        assert.is_true(sum < 0 or sum == plain(bytes, length, 0xffff), name)
      end
    end
    ffi.fill(bytes, ROOM, 0)
    assert.equal(0xffff, checksum.of(bytes, 9000))
  end)

  it("can be continued", function ()
    randomize()
    local first = checksum.of(bytes, 1234)
    assert.equal(plain(bytes, 5001), checksum.of(bytes + 1234, 5001 - 1234,
      bit.bnot(first)))
  end)

  it("is updated as it would be computed anew", function ()
    for _ = 1, 1000 do
      for i = 0, 39 do bytes[i] = math.random(0, 255) end
      local edge = math.random(4) == 1
      local old = checksum.of(bytes, 40)
      local at = 2 * math.random(0, 18)
      local before16 = bytes[at] * 256 + bytes[at + 1]
      local before32 = before16 * 65536 + bytes[at + 2] * 256 + bytes[at + 3]
      bytes[at] = edge and 255 or math.random(0, 255)
      bytes[at + 1] = edge and 255 or math.random(0, 255)
      local after16 = bytes[at] * 256 + bytes[at + 1]
      assert.equal(checksum.of(bytes, 40), checksum.update16(old, before16, after16))
      bytes[at + 3] = math.random(0, 255)
      local after32 = after16 * 65536 + bytes[at + 2] * 256 + bytes[at + 3]
      assert.equal(checksum.of(bytes, 40), checksum.update32(old, before32, after32))
    end
  end)
end)

describe("CRC32c", function ()
  it("is that of RFC 3720, appendix B.4", function ()
    local data = ffi.new("uint8_t[32]")
    assert.equal(0x8a9136aa, checksum.crc32c(data, 32))
    ffi.fill(data, 32, 0xff)
    assert.equal(0x62a8ab43, checksum.crc32c(data, 32))
    for i = 0, 31 do data[i] = i end
    assert.equal(0x46dd794e, checksum.crc32c(data, 32))
    assert.equal(0xe3069283, checksum.crc32c("123456789", 9))
  end)

  it("is the same by table, and can be continued", function ()
    randomize()
    for length = 0, 300 do
      local p, cut = bytes + math.random(0, 63), math.random(0, length)
      local crc = checksum.crc32c(p, length)
      assert.equal(C.pg_crc32c_by_table(p, length, 0), crc)
      assert.equal(crc, checksum.crc32c(p + cut, length - cut,
        checksum.crc32c(p, cut)))
    end
  end)
end)

-- UDP over IPv4 with one option of 4 bytes, and over IPv6, padded by Ethernet.
local ETHERNET = "020000000002 020000000001 "
local UDP4 = ETHERNET .. "0800 46000024 00004000 40110000 c0000201 c0000202 01010101"
  .. "1234 5678 000c 0000 61626364 eeeeeeeeee"
local UDP6 = ETHERNET .. "86dd 60000000 000d1140 20010db8000000000000000000000001"
  .. "20010db8000000000000000000000002 1234 5678 000d 0000 6162636465 eeee"

local UNTOUCHED = ("\x5a"):rep(64)

local function array(...)
  local list = {...}
  return ffi.new("struct packet *[?]", #list, list), #list
end

describe("the checksums of packets", function ()
  it("are set by IP's lengths, not Ethernet's", function ()
    local p = packet.from_string(hex(UDP4))
    assert.equal(1, checksum.fill_ip4(array(p), 1, 14))
    assert.equal(plain(p.data + 14, 24), 0)
    assert.equal(1, checksum.fill_l4(array(p), 1, 14, 38, checksum.UDP))
    -- As Scapy computes it.
    assert.equal(0xb3c3, word(p, 24))
    assert.equal(0x4e5f, word(p, 44))
    assert.equal(0, plain(p.data + 38, 12, checksum.pseudo4(p.data + 14, 17, 12)))
    packet.free(p)

    local q = packet.from_string(hex(UDP6))
    assert.equal(0, checksum.fill_ip4(array(q), 1, 14))
    assert.equal(1, checksum.fill_l4(array(q), 1, 14, 54, checksum.UDP))
    assert.equal(0, plain(q.data + 54, 13, checksum.pseudo6(q.data + 14, 17, 13)))
    packet.free(q)
  end)

  it("are never 0 for UDP", function ()
    local p = packet.from_string(hex(UDP4))
    checksum.fill_l4(array(p), 1, 14, 38, checksum.UDP)
    -- A port that takes the sum to 0xffff.
    local sum = word(p, 44)
    local port = word(p, 38) + sum
    if port > 0xffff then port = port - 0xffff end
    p.data[38], p.data[39] = bit.rshift(port, 8), bit.band(port, 255)
    checksum.fill_l4(array(p), 1, 14, 38, checksum.UDP)
    assert.equal(0xffff, word(p, 44))
    packet.free(p)
  end)

  it("are left alone where a header is cut short or another", function ()
    for _, text in ipairs{UDP4, UDP6} do
      local whole = hex(text)
      for _ = 1, 2000 do
        local length = math.random(0, #whole)
        local p = packet.from_string(whole)
        ffi.fill(p.data + length, 64, 0x5a)
        p.length = length
        if length > 0 and math.random(2) == 1 then
          p.data[math.random(0, length - 1)] = math.random(0, 255)
        end
        local l3 = ({14, 0, 2^32 - 8, math.random(0, 80)})[math.random(4)]
        local l4 = ({38, 54, 0, 2^32 - 8, math.random(0, 80)})[math.random(5)]
        local protocol = ({1, 6, 17, 58, 99, 0})[math.random(6)]
        checksum.fill_ip4(array(p), 1, l3)
        checksum.fill_l4(array(p), 1, l3, l4, protocol)
        assert.equal(UNTOUCHED, ffi.string(p.data + length, #UNTOUCHED))
        packet.free(p)
      end
    end
  end)

  it("are set in bulk", function ()
    local good, bad = packet.from_string(hex(UDP4)), packet.from_string("short")
    local list, n = array(good, bad, good)
    assert.equal(2, checksum.fill_ip4(list, n, 14))
    assert.equal(2, checksum.fill_l4(list, n, 14, 38, checksum.UDP))
    assert.equal("short", ffi.string(bad.data, bad.length))
    packet.free(good)
    packet.free(bad)
  end)
end)
