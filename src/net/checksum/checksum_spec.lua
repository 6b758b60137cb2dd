-- SPDX-License-Identifier: Apache-2.0
-- Checksums against sums in plain Lua, the kernels against each other at all
-- lengths and alignments, and packets cut short within bytes that must not change.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local checksum = require("net.checksum.checksum")
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

local hex = require("net.wire.bytes").from_hex

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
      bytes[at] = edge and 255 or math.random(0, 255)
      bytes[at + 1] = edge and 255 or math.random(0, 255)
      local after16 = bytes[at] * 256 + bytes[at + 1]
      assert.equal(checksum.of(bytes, 40), checksum.update16(old, before16, after16))
    end
  end)
end)

describe("sums", function ()
  it("are folded to checksums", function ()
    for _, sum in ipairs{0, 1, 0xffff, 0x10000, 0x1fffe, 0x7fffffff} do
      assert.equal(plain(bytes, 0, sum), checksum.fold(sum))
    end
  end)

  it("change with what they cover", function ()
    for _ = 1, 1000 do
      local sum, old, new = math.random(0, 0xffff), math.random(0, 0xffff),
        math.random(0, 0xffff)
      assert.equal(checksum.update16(sum, old, new),
        checksum.changed(sum, 0xffff - old + new))
    end
  end)

  it("of 0 are sent as 0xffff by UDP", function ()
    assert.same({0xffff, 1, 0xffff}, {checksum.udp(0), checksum.udp(1),
      checksum.udp(0xffff)})
  end)
end)

-- A transport header and payload of `n` bytes behind an IPv4 header with `options`.
local function over_ip4(protocol, n, options)
  local header = 20 + #options
  randomize()
  bytes[0], bytes[9] = 0x40 + header / 4, protocol
  ffi.copy(bytes + 20, options, #options)
  return bytes, bytes + header, n
end

local AT = {[1] = 2, [6] = 16, [17] = 6, [58] = 2}

describe("transport checksums", function ()
  it("are set over IPv4, with or without a pseudo header", function ()
    for _, protocol in ipairs{1, 6, 17} do
      for n = 20, 90, 7 do
        local ip, l4 = over_ip4(protocol, n, "")
        C.pg_ip4_l4_set(ip, l4, n, protocol)
        local pseudo = protocol == 1 and 0 or checksum.pseudo4(ip, protocol, n)
        assert.equal(0, plain(l4, n, pseudo))
        assert.equal(0, protocol == 1 and C.pg_checksum_word(l4, n)
          or C.pg_ip4_l4_checksum(ip, l4, n))
      end
    end
  end)

  it("are set over IPv6", function ()
    for _, protocol in ipairs{6, 17, 58} do
      randomize()
      C.pg_ip6_l4_set(bytes, bytes + 40, 61, protocol)
      assert.equal(0, plain(bytes + 40, 61, checksum.pseudo6(bytes, protocol, 61)))
      assert.equal(0, C.pg_ip6_l4_checksum(bytes, bytes + 40, 61, protocol))
    end
  end)

  it("are 0 where that is right, but for UDP's", function ()
    for protocol, expected in pairs{[6] = 0, [17] = 0xffff} do
      local ip, l4 = over_ip4(protocol, 30, "")
      local at = AT[protocol]
      local function read() return l4[at] * 256 + l4[at + 1] end
      l4[28], l4[29] = 0, 0
      C.pg_ip4_l4_set(ip, l4, 30, protocol)
      l4[28], l4[29] = l4[at], l4[at + 1]
      C.pg_ip4_l4_set(ip, l4, 30, protocol)
      assert.equal(expected, read())
      randomize()
      bytes[40 + 28], bytes[40 + 29] = 0, 0
      C.pg_ip6_l4_set(bytes, bytes + 40, 30, protocol)
      bytes[40 + 28], bytes[40 + 29] = bytes[40 + at], bytes[40 + at + 1]
      C.pg_ip6_l4_set(bytes, bytes + 40, 30, protocol)
      assert.equal(expected, bytes[40 + at] * 256 + bytes[40 + at + 1])
    end
  end)

  it("go by the last address of a source route", function ()
    local ip, l4 = over_ip4(17, 20, "\131\11\4\1\2\3\4\10\0\0\9\0")
    C.pg_ip4_l4_set(ip, l4, 20, 17)
    ffi.copy(ip + 16, "\10\0\0\9", 4)
    assert.equal(0, plain(l4, 20, checksum.pseudo4(ip, 17, 20)))
  end)

  it("aren't written behind the end, or for protocols without", function ()
    for _, case in ipairs{{1, 3}, {6, 17}, {17, 7}, {99, 60}} do
      local protocol, n = unpack(case)
      local ip, l4 = over_ip4(protocol, n, "")
      local before = ffi.string(l4, 64)
      C.pg_ip4_l4_set(ip, l4, n, protocol)
      C.pg_ip6_l4_set(ip, l4, n, protocol)
      assert.equal(before, ffi.string(l4, 64))
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

  it("are set both at once as one after the other", function ()
    for _, protocol in ipairs{6, 17} do
      for n = 0, 90 do
        local ip, l4 = over_ip4(protocol, n, "")
        ip[2], ip[3] = 0, math.random(4) == 1 and math.random(0, 255) or 20 + n
        l4[AT[protocol]] = 0x11
        local text = ffi.string(ip, 20 + n)
        local p, q = packet.from_string(text), packet.from_string(text)
        if C.pg_fill_both(p, 0, protocol) then
          assert.equal(1, checksum.fill_ip4(array(q), 1, 0))
          assert.equal(1, checksum.fill_l4(array(q), 1, 0, 20, protocol))
          assert.equal(0, plain(p.data, 20))
        else
          assert.is_true(ip[3] > 20 + n or ip[3] < 20 + (protocol == 6 and 20 or 8))
        end
        assert.equal(ffi.string(q.data, q.length), ffi.string(p.data, p.length))
        packet.free(p)
        packet.free(q)
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
