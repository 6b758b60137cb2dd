-- SPDX-License-Identifier: Apache-2.0
-- Decap: what is let in from the underlay, and what is made of it.

local ffi = require("ffi")
local packet = require("core.packet")
local Decap = require("apps.vtep.decap").Decap
local Tunnel = require("apps.vtep.tunnel")
local addresses = require("net.address.address")
local testing = require("testing.vtep")

local bytes, with = testing.bytes, testing.with

local FRAME = bytes"020000000008 020000000009 0800"
  .. bytes"45020024 0000 4000 4011 26a5 0a000001 0a000002 03e8 0050 0010 0000"
  .. ("x"):rep(8)
local OUTER = bytes[[020000000001 020000000002 0800
  4500 0056 0000 4000 4011 b693 c0000202 c0000201 c001 12b5 0042 0000
  08000000 00002a00]]
local PACKET = OUTER .. FRAME
local OUTER6 = bytes[[020000000001 020000000002 86dd 60000000 0042 11 40
  20010db8000000000000000000000002 20010db8000000000000000000000001
  c001 12b5 0042 0000 08000000 00002a00]]
local PACKET6 = OUTER6 .. FRAME

-- RFC 1071, the slow way.
local function checksum(text)
  local sum = 0
  for i = 1, #text, 2 do
    sum = sum + text:byte(i) * 256 + (text:byte(i + 1) or 0)
  end
  while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
  return string.char(math.floor((0xffff - sum) / 256), (0xffff - sum) % 256)
end

-- The packet with its IPv4 header's checksum made right.
local function sound(text, header)
  local ip = text:sub(15, 14 + (header or 20))
  return with(text, 24, checksum(with(ip, 10, "\0\0")))
end

local function with_udp_checksum(text, at, pseudo)
  local udp = text:sub(at + 1)
  return with(text, at + 6, checksum(pseudo .. "\0\17" .. udp:sub(5, 6) .. udp))
end

local four, six = testing.tunnel(), testing.tunnel6()

local function verdict(text, tunnel)
  return (select(2, testing.decapsulate(tunnel or four, text)))
end

describe("apps.vtep.decap", function ()
  it("takes the outer headers off", function ()
    assert.same({FRAME, "output"}, {testing.decapsulate(four, PACKET)})
    assert.same({FRAME, "output"}, {testing.decapsulate(four, PACKET .. "padding")})
    assert.same({FRAME, "output"}, {testing.decapsulate(six, PACKET6)})
    assert.same({FRAME, "output"}, {testing.decapsulate(six, PACKET6 .. "padding")})
  end)

  it("accepts IPv4 options", function ()
    for words = 1, 10 do
      local text = PACKET:sub(1, 34) .. ("\1"):rep(4 * words) .. PACKET:sub(35)
      text = with(text, 14, string.char(0x45 + words))
      text = with(text, 16, string.char(0, 0x56 + 4 * words))
      assert.equal(FRAME, (testing.decapsulate(four, sound(text, 20 + 4 * words))))
      assert.equal("bad_checksum", verdict(with(sound(text, 20 + 4 * words), 35, "\9")))
    end
  end)

  it("ignores reserved flags and fields (RFC 7348, section 5)", function ()
    local text = with(with(PACKET, 42, "\255\255\255\255"), 49, "\255")
    assert.equal(FRAME, (testing.decapsulate(four, text)))
    assert.equal("no_vni", verdict(with(PACKET, 42, "\247")))
  end)

  it("checks UDP's checksum where there is one", function ()
    local good = with_udp_checksum(PACKET, 34, PACKET:sub(27, 34))
    assert.not_equal(PACKET, good)
    assert.equal(FRAME, (testing.decapsulate(four, good)))
    local good6 = with_udp_checksum(PACKET6, 54, PACKET6:sub(23, 54))
    assert.equal(FRAME, (testing.decapsulate(six, good6)))
    for _, case in ipairs{{good, four, 34}, {good6, six, 54}} do
      local text, tunnel, from = unpack(case)
      for place = from + 8, #text - 1 do
        local byte = bit.bxor(text:byte(place + 1), 1)
        assert.equal("bad_udp_checksum",
          verdict(with(text, place, string.char(byte)), tunnel))
      end
    end
  end)

  it("drops by name what isn't for it", function ()
    assert.equal("other_mac", verdict(with(PACKET, 5, "\9")))
    assert.equal("other_mac", verdict(with(PACKET, 0, ("\255"):rep(6))))
    assert.equal("other_address", verdict(sound(with(PACKET, 33, "\9"))))
    assert.equal("other_port", verdict(with(PACKET, 37, "\9")))
    assert.equal("unknown_vni", verdict(with(PACKET, 46, "\1")))
    assert.equal("unknown_vni", verdict(with(PACKET, 48, "\43")))
    assert.equal("other_protocol", verdict(with(PACKET, 12, "\134\221")))
    assert.equal("other_protocol", verdict(with(PACKET6, 12, "\8\6"), six))
    assert.equal("other_mac", verdict(with(PACKET6, 5, "\9"), six))
    assert.equal("other_address", verdict(with(PACKET6, 53, "\9"), six))
    assert.equal("other_port", verdict(with(PACKET6, 57, "\9"), six))
  end)

  it("drops by name what isn't right", function ()
    assert.equal("bad_checksum", verdict(with(PACKET, 22, "\9")))
    assert.equal("bad_length", verdict(with(PACKET, 14, "\68")))
    assert.equal("bad_length", verdict(with(PACKET, 14, "\101")))
    assert.equal("bad_length", verdict(with(PACKET, 38, "\0\67"))) -- UDP over IP
    assert.equal("bad_length", verdict(with(PACKET, 38, "\0\29")))
    assert.equal("bad_length", verdict(with(PACKET6, 58, "\0\67"), six))
    for _, place in ipairs{{"\32\0"}, {"\0\1"}, {"\63\255"}} do
      assert.equal("fragment", verdict(sound(with(PACKET, 20, place[1]))))
    end
    assert.equal("fragment", verdict(with(PACKET6, 20, "\44"), six))
    assert.equal("bad_source", verdict(with(PACKET, 56, "\3")))
  end)

  it("drops what comes from addresses that no other host has", function ()
    for _, text in ipairs{"192.0.2.1", "192.0.2.255", "0.0.0.0", "0.1.2.3", "127.0.0.1",
                          "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255"} do
      local from = with(PACKET, 26, (addresses.ip(text)))
      assert.equal("bad_outer_source", verdict(sound(from)))
      assert.equal("bad_outer_source", verdict(sound(with(from, 23, "\1")))) -- ICMP
    end
    for _, text in ipairs{"192.0.2.254", "192.0.3.255", "126.255.255.255",
                          "128.0.0.1"} do
      assert.equal("output", verdict(sound(with(PACKET, 26, (addresses.ip(text))))))
    end
    for _, text in ipairs{"2001:db8::1", "::", "::1", "ff02::1", "ff0e::1"} do
      assert.equal("bad_outer_source", verdict(with(PACKET6, 22, (addresses.ip(text))),
        six))
    end
    assert.equal("output", verdict(with(PACKET6, 22, (addresses.ip("fe80::1"))), six))
  end)

  it("knows no broadcast address in a network of two", function ()
    local last = sound(with(PACKET, 29, "\255"))
    for prefix, expected in pairs{[23] = "output", [24] = "bad_outer_source",
                                  [31] = "output", [32] = "output"} do
      local tunnel = testing.tunnel{address = "192.0.2.1/" .. prefix, remotes = {}}
      assert.equal(expected, verdict(last, tunnel))
    end
  end)

  it("keeps what is for the neighbour on the wire, unless told not to", function ()
    local carrying = testing.tunnel{flood_control = true}
    for last = 0, 16 do
      local to = "\1\128\194\0\0" .. string.char(last)
      local text = with(PACKET, 50, to)
      assert.equal(last < 16 and "control" or "output", verdict(text))
      assert.equal("output", verdict(text, carrying))
    end
    local lldp = with(PACKET, 62, "\136\204")
    assert.equal("output", verdict(lldp))
    assert.equal("control", verdict(with(lldp, 50, "\255")))
  end)

  it("drops packets cut short anywhere", function ()
    for length = 0, #PACKET - 1 do
      local expected = length < 34 and "short" or "bad_length"
      assert.equal(expected, verdict(PACKET:sub(1, length)))
    end
    for length = 0, #PACKET6 - 1 do
      local expected = length < 54 and "short" or "bad_length"
      assert.equal(expected, verdict(PACKET6:sub(1, length), six))
    end
    -- IP says there is less than the headers.
    for left = 0, 29 do
      assert.equal("short", verdict(sound(with(PACKET, 16, string.char(0, 20 + left)))))
      assert.equal("short", verdict(with(PACKET6, 18, string.char(0, left)), six))
    end
  end)

  it("gives what may be for the host to the host", function ()
    local arp = with(PACKET, 12, "\8\6")
    assert.same({arp, "host"}, {testing.decapsulate(four, arp)})
    assert.equal("host", verdict(sound(with(PACKET, 23, "\1"))))
    assert.equal("host", verdict(with(PACKET6, 20, "\58"), six))
    assert.equal("host", verdict(with(PACKET6, 0, "\51\51\255\0\0\1"), six))
  end)

  it("puts the VNI's VLAN tag on", function ()
    local tunnel = testing.tunnel{vnis = {[42] = 0x123, [43] = 0}}
    assert.equal(FRAME:sub(1, 12) .. bytes"81000123" .. FRAME:sub(13),
                 (testing.decapsulate(tunnel, PACKET)))
    assert.equal(FRAME, (testing.decapsulate(tunnel, with(PACKET, 48, "\43"))))
  end)

  it("drops frames with a tag of their own, unless told to keep them", function ()
    for _, tag in ipairs{"\129\0", "\136\168"} do
      local text = with(PACKET, 62, tag)
      assert.equal("inner_tag", verdict(text))
      assert.equal(with(FRAME, 12, tag),
                   (testing.decapsulate(testing.tunnel{keep_tags = true}, text)))
    end
  end)

  it("finds VNIs wherever they are", function ()
    local vnis = {}
    for i, vni in ipairs{0, 1, 4095, 4096, 0x123456, 0xfff000, 0xffffff} do
      vnis[vni] = i
    end
    local tunnel = testing.tunnel{vnis = vnis}
    local function vlan(vni)
      local text = string.char(math.floor(vni / 65536), math.floor(vni / 256) % 256,
        vni % 256)
      local frame, why = testing.decapsulate(tunnel, with(PACKET, 46, text))
      return frame and frame:byte(16) or why
    end
    for vni, expected in pairs(vnis) do
      assert.equal(expected, vlan(vni))
      local neighbour = (vni + 7) % 2^24
      assert.equal(vnis[neighbour] or "unknown_vni", vlan(neighbour))
    end
  end)

  it("notes a source it doesn't know, and refreshes one it does", function ()
    local tunnel = testing.tunnel()
    local digest = tunnel.digest
    tunnel.fdb:set_now(1)
    testing.decapsulate(tunnel, PACKET)
    assert.equal(1, digest.n)
    local key = Tunnel.key(addresses.mac("02:00:00:00:00:09"), 1)
    assert.equal(key, digest.of[0].key)
    assert.equal("\192\0\2\2", ffi.string(digest.of[0].from, 4))
    tunnel.fdb:learn(key, tunnel.remotes.number["\192\0\2\2"])
    tunnel.fdb:set_now(7)
    testing.decapsulate(tunnel, PACKET)
    assert.equal(1, digest.n)
    assert.equal(7, (select(4, tunnel.fdb:entry(tunnel.fdb:find(key)))))
    testing.decapsulate(tunnel, sound(with(PACKET, 29, "\3"))) -- moved
    assert.equal(2, digest.n)
    assert.equal("\192\0\2\3", ffi.string(digest.of[1].from, 4))
  end)

  it("notes no more than there is room for", function ()
    local tunnel = testing.tunnel()
    for n = 1, tunnel.digest_room + 5 do
      testing.decapsulate(tunnel, with(PACKET, 60, string.char(math.floor(n / 256),
        n % 256)))
    end
    assert.equal(tunnel.digest_room, tunnel.digest.n)
    assert.equal(5, tunnel.digest.missed)
  end)

  it("drops what comes from strangers when strict", function ()
    local tunnel = testing.tunnel{strict = true}
    assert.equal("output", verdict(PACKET, tunnel))
    assert.equal("unknown_remote", verdict(sound(with(PACKET, 29, "\3")), tunnel))
    local tunnel6 = testing.tunnel6{strict = true}
    assert.equal("output", verdict(PACKET6, tunnel6))
    assert.equal("unknown_remote", verdict(with(PACKET6, 37, "\3"), tunnel6))
  end)

  it("carries congestion marks over (RFC 6040, section 4.2)", function ()
    -- Rows: inner Not-ECT, ECT(1), ECT(0), CE; columns: outer, the same. -1: dropped.
    local MARKS = {[0] = {[0] = 0, 0, 0, -1}, {[0] = 1, 1, 1, 3}, {[0] = 2, 1, 2, 3},
                   {[0] = 3, 3, 3, 3}}
    for inner = 0, 3 do
      for outer = 0, 3 do
        local frame = with(FRAME, 15, string.char(0xb8 + inner))
        frame = with(frame, 24, checksum(with(frame:sub(15, 34), 10, "\0\0")))
        local text = sound(with(OUTER .. frame, 15, string.char(outer)))
        local out, why = testing.decapsulate(four, text)
        local out6, why6 = testing.decapsulate(six,
          with(OUTER6 .. frame, 15, string.char(outer * 16)))
        assert.equal(out, out6)
        if MARKS[inner][outer] == -1 then
          assert.same({"congested", "congested"}, {why, why6})
        else
          assert.equal(0xb8 + MARKS[inner][outer], out:byte(16))
          assert.equal("\0\0", checksum(out:sub(15, 34)))
          assert.equal(with(with(frame, 15, "\0"), 24, "\0\0"),
                       with(with(out, 15, "\0"), 24, "\0\0"))
        end
      end
    end
    -- An inner IPv6 packet, and one that is neither.
    local ip6 = FRAME:sub(1, 12) .. bytes"86dd 6020" .. ("\0"):rep(40)
    local text = with(OUTER .. ip6, 16, string.char(0, 36 + #ip6))
    text = sound(with(with(text, 38, string.char(0, 16 + #ip6)), 15, "\3"))
    assert.equal(0x30, (testing.decapsulate(four, text)):byte(16))
    local other = with(PACKET, 62, "\8\6")
    assert.equal(with(FRAME, 12, "\8\6"),
      (testing.decapsulate(four, sound(with(other, 15, "\3")))))
  end)
end)

describe("apps.vtep.decap, with damaged packets,", function ()
  -- What comes out depends on nothing behind the packet's end: bytes of two kinds there
  -- make no difference.
  local function same_whatever_follows(tunnel, text)
    local results = {}
    for i, filler in ipairs{"\0", "\255"} do
      tunnel.digest.n = 0
      local p = packet.from_string(text .. filler:rep(200))
      p.length = #text
      local app = Decap:new(tunnel)
      local q, number = app:process(p)
      results[i] = {q ~= nil, number, q ~= nil and ffi.string(q.data, q.length)}
      if q ~= nil and (number or 1) == 1 then
        assert(q.length >= 14 and q.length <= #text, q.length)
      end
      packet.free(p)
    end
    assert.same(results[1], results[2])
    return results[1][1]
  end

  local function mutated(text)
    for _ = 1, math.random(1, 4) do
      local place = math.random(0, math.min(#text, 80) - 1)
      text = with(text, place, string.char(math.random(0, 255)))
    end
    if math.random() < 0.3 then text = text:sub(1, math.random(0, #text)) end
    return text
  end

  for name, case in pairs{IPv4 = {four, PACKET, 14}, IPv6 = {six, PACKET6, 14}} do
    it("reads nothing behind their end:  #slow" .. name, function ()
      math.randomseed(11)
      local tunnel, good = case[1], case[2]
      local passed = 0
      for _ = 1, 20000 do
        local text = mutated(good)
        -- Half of them with a right IPv4 checksum, to get further.
        local header = 4 * (#text > 34 and text:byte(15) % 16 or 0)
        if tunnel == four and header >= 20 and #text >= 14 + header
            and math.random() < 0.5 then
          text = sound(text, header)
        end
        if same_whatever_follows(tunnel, text) then passed = passed + 1 end
      end
      assert(passed > 1000 and passed < 19000, passed)
    end)
  end
end)
