-- SPDX-License-Identifier: Apache-2.0
-- The fragments' headers and payloads by hand; apps' and Click's specs have more.

local ffi = require("ffi")
local checksum = require("lib.checksum")
local cut = require("net.fragment.cut")
local packet = require("core.packet")

local rest = cut.room()

-- Of an IPv4 packet with so many bytes of payload, behind `link`, the fragments:
-- {options, bytes of payload} each.
local function fragments(link, options, payload, mtu, units)
  local total = 20 + #options + payload
  local bytes = {}
  for i = 1, payload do bytes[i] = string.char(i % 251) end
  bytes = table.concat(bytes)
  local p = packet.from_string(link .. string.char(0x45 + #options / 4, 1,
    math.floor(total / 256), total % 256) .. "\0\9\0\0\64\17\0\0\10\0\0\1\10\0\0\2"
    .. options .. bytes .. "padding")
  p.note8[5] = 77
  local n = cut.ip4(p, p.data_off + #link, #link, mtu, units, 99, rest)
  local list, at, whole = {}, 0, {}
  for i = 0, n do
    local q = i == 0 and p or rest[i - 1]
    local text = ffi.string(q.data, q.length)
    assert.equal(link, text:sub(1, #link))
    assert.is_true(i == 0 or q.data_off == 99)
    text = text:sub(#link + 1)
    local header = text:byte(1) % 16 * 4
    assert.equal(#text, text:byte(3) * 256 + text:byte(4))
    assert.equal(0, checksum.ipsum(text, header, 0))
    assert.equal((i < n and 0x2000 or 0) + at / 8, text:byte(7) * 256 + text:byte(8))
    assert.equal("\1\0\9\64\17\10\0\0\1\10\0\0\2", text:sub(2, 2) .. text:sub(5, 6)
      .. text:sub(9, 10) .. text:sub(13, 20))
    assert.is_true(#text <= mtu)
    whole[i + 1] = text:sub(header + 1)
    list[i + 1] = {text:sub(21, header), #text - header}
    at = at + #text - header
    packet.free(q)
  end
  assert.equal(bytes, table.concat(whole))
  return list
end

-- Of an IPv6 packet with so many bytes of payload behind "eth", with so much room
-- before it, the fragments' bytes of payload.
local function fragments6(payload, mtu, headroom)
  local bytes = {}
  for i = 1, payload do bytes[i] = string.char(i % 251) end
  bytes = table.concat(bytes)
  local start, addresses = "eth\96\1\2\3", "\64" .. ("a"):rep(16) .. ("b"):rep(16)
  local frame = start .. string.char(math.floor(payload / 256), payload % 256) .. "\17"
    .. addresses .. bytes
  local p = packet.allocate()
  p.data_off, p.length = headroom, #frame
  ffi.copy(p.data, frame, #frame)
  local n = cut.ip6(p, 3, mtu, -2, 99, rest)
  local list, whole, at = {}, {}, 0
  for i = 0, n do
    local q = i == 0 and p or rest[i - 1]
    local text = ffi.string(q.data, q.length)
    local size, place = #text - 51, at + (i < n and 1 or 0)
    assert.equal(start
      .. string.char(math.floor((size + 8) / 256), (size + 8) % 256, 44) .. addresses
      .. "\17\0" .. string.char(math.floor(place / 256), place % 256)
      .. "\255\255\255\254", text:sub(1, 51))
    assert.is_true(#text <= mtu + 3)
    assert.is_true(i == 0 or q.data_off == 99)
    list[i + 1], whole[i + 1], at = size, text:sub(52), at + size
    packet.free(q)
  end
  assert.equal(bytes, table.concat(whole))
  return list
end

describe("IPv6 packets", function ()
  it("are cut into units of 8 bytes, and what fills the MTU", function ()
    for _, headroom in ipairs{0, 7, 8, 128} do
      assert.same({1232, 1232, 36}, fragments6(2500, 1280, headroom))
      assert.same({1232, 1237}, fragments6(2469, 1285, headroom))
      assert.same({1232, 1232, 6}, fragments6(2470, 1285, headroom))
      assert.same({1232, 9}, fragments6(1241, 1280, headroom))
    end
  end)
end)

describe("IPv4 packets", function ()
  it("are cut into units of 8 bytes, and what is left", function ()
    assert.same({{"", 48}, {"", 48}, {"", 4}}, fragments("eth", "", 100, 68, false))
    assert.same({{"", 48}, {"", 48}}, fragments("", "", 96, 75, true))
  end)

  it("may fill the MTU with the last fragment", function ()
    assert.same({{"", 48}, {"", 49}}, fragments("eth", "", 97, 69, false))
    assert.same({{"", 48}, {"", 48}, {"", 1}}, fragments("eth", "", 97, 69, true))
  end)

  it("copy the options that are to be copied", function ()
    local options = "\7\3\4\130\4ab\1\148\4\0\0"
    assert.same({{options, 32}, {"\130\4ab\148\4\0\0", 40}, {"\130\4ab\148\4\0\0", 8}},
      fragments("eth", options, 80, 68, false))
    assert.same({{"\130\5abc\7\3\4", 8}, {"\130\5abc\0\0\0", 8}},
      fragments("", "\130\5abc\7\3\4", 16, 36, false))
    -- One that can't be ends them.
    assert.same({{"\130\9ab", 40}, {"", 1}}, fragments("", "\130\9ab", 41, 64, false))
  end)

  it("have no bytes that aren't in the packet", function ()
    local p = packet.from_string("\69\0\1\44\0\9\0\0\64\17\0\0\10\0\0\1\10\0\0\2"
      .. ("x"):rep(60))
    assert.equal(1, cut.ip4(p, p.data_off, 0, 68, false, 99, rest))
    assert.same({68, 32}, {p.length, rest[0].length}) -- 300 by the header
    packet.free(p)
    packet.free(rest[0])
  end)

  it("may have as many fragments as a packet has bytes for", function ()
    assert.equal(1277, #fragments("", "", packet.max_payload - 27, 28, false))
  end)
end)
