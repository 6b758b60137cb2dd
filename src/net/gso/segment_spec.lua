-- SPDX-License-Identifier: Apache-2.0
-- Segmentation (segment.c) and its opposite (join.c): what is cut up and joined again
-- is the same, and made-up offload data never leads out of the frame.

local bit = require("bit")
local ffi = require("ffi")
local createStack = require("lib.stack").createStack
local offload = require("testing.offload")
local packet = require("core.packet")

local asTcp4 = createStack("eth", "ip4", "tcp")
local asTcp6 = createStack("eth", "ip6", "tcp")

local NEEDS_CSUM, TCPV4, TCPV6 = 1, 1, 4
local PSH = 8

-- A frame of `payload` bytes behind the headers, as a Lua string, and where TCP is.
local function frame(as, payload)
  local p = as(packet.allocate())
  local headers = as == asTcp4 and 54 or 74
  p:fill{pktLength = headers + payload, tcpSeqNumber = 0xfffff000, tcpAck = 1,
    tcpSrc = 1000, tcpDst = 80}
  local base = ffi.cast("struct packet *", p)
  for i = headers, base.length - 1 do base.data[i] = i * 7 % 256 end
  p:calculateChecksums()
  local text = ffi.string(base.data, base.length)
  packet.free(base)
  return text, headers - 20
end

describe("segmentation", function ()
  for name, case in pairs {IPv4 = {asTcp4, TCPV4}, IPv6 = {asTcp6, TCPV6}} do
    it("of TCP over " .. name .. " is undone by joining", function ()
      local whole, start = frame(case[1], 8000)
      local packets = offload.segments(whole, {flags = NEEDS_CSUM, gso_type = case[2],
        gso_size = 1448, csum_start = start, csum_offset = 16})
      assert.equal(6, #packets)
      local count, joined = offload.join(packets)
      assert.equal(6, count)
      assert.equal(whole:sub(start + 21), joined.payload)
      local again = offload.segments(joined.headers .. joined.payload, joined.offload)
      assert.same(packets, again)
    end)
  end

  it("and joining go behind a VLAN tag, a customer's or a provider's", function ()
    local whole, start = frame(asTcp4, 3000)
    for _, tag in ipairs {"\129\0\0\7", "\136\168\0\7"} do
      local packets = offload.segments(whole:sub(1, 12) .. tag .. whole:sub(13),
        {flags = NEEDS_CSUM, gso_type = TCPV4, gso_size = 1448, csum_start = start + 4,
          csum_offset = 16})
      assert.equal(3, #packets)
      assert.equal(3, (offload.join(packets)))
    end
  end)

  it("goes behind IPv6's extension headers", function ()
    local whole, start = frame(asTcp6, 3000)
    local options = "\6\1" .. ("\1"):rep(14) -- TCP follows, 16 bytes of Pad1
    local text = whole:sub(1, 18) .. string.char(math.floor(3036 / 256), 3036 % 256)
      .. "\60" .. whole:sub(22, start) .. options .. whole:sub(start + 1)
    local data = {flags = NEEDS_CSUM, gso_type = TCPV6, gso_size = 1448,
      csum_start = start + 16, csum_offset = 16}
    local packets = offload.segments(text, data)
    assert.equal(3, #packets)
    assert.equal(start + 16, offload.layers(text, data).l4)
    assert.equal(options, packets[3]:sub(start + 1, start + 16))
    assert.equal(16 + 20 + 3000 - 2 * 1448, packets[3]:byte(19) * 256
      + packets[3]:byte(20))
  end)

  it("goes into GRE with a key, not with a checksum or sequence numbers", function ()
    local whole, start = frame(asTcp4, 3000)
    local ip = whole:sub(15, 34)
    local function through_gre(header)
      local outer = ip:sub(1, 2) .. string.char(math.floor((3060 + #header) / 256),
        (3060 + #header) % 256) .. ip:sub(5, 9) .. "\47" .. ip:sub(11)
      return offload.segments(whole:sub(1, 14) .. outer .. header .. whole:sub(15),
        {flags = NEEDS_CSUM, gso_type = TCPV4, gso_size = 1448,
          csum_start = start + 20 + #header, csum_offset = 16})
    end
    assert.equal(3, #through_gre("\0\0\8\0"))
    assert.equal(3, #through_gre("\32\0\8\0\0\0\0\7"))
    for _, flags in ipairs{0x80, 0x40, 0x10} do
      assert.is_nil(through_gre(string.char(flags, 0) .. "\8\0"))
    end
  end)

  it("of a frame that isn't what it is said to be is refused", function ()
    local whole, start = frame(asTcp4, 8000)
    local right = {flags = NEEDS_CSUM, gso_type = TCPV4, gso_size = 1448,
      csum_start = start, csum_offset = 16}
    for key, value in pairs {gso_size = 0, gso_type = 3, csum_start = start + 1} do
      local wrong = setmetatable({[key] = value}, {__index = right})
      assert.is_nil(offload.segments(whole, wrong))
    end
    assert.is_nil(offload.segments(whole:sub(1, start + 20), right))
    assert.is_nil(offload.segments(whole, setmetatable({gso_size = 7},
      {__index = right}))) -- more than 1,000 segments
  end)

  it("stays in bounds whatever the frame and the offload data are #slow", function ()
    math.randomseed(7)
    local whole = {frame(asTcp4, 900), frame(asTcp6, 900)}
    local accepted = 0
    for i = 1, 20000 do
      local text = whole[i % 2 + 1]
      for _ = 1, math.random(0, 4) do
        local at = math.random(13, 80)
        text = text:sub(1, at - 1) .. string.char(math.random(0, 255))
          .. text:sub(at + 1)
      end
      text = text:sub(1, math.random(1, #text))
      local layers = offload.layers(text, {flags = math.random(0, 1),
        gso_type = ({1, 4, 5})[math.random(3)], gso_size = math.random(1, 600),
        csum_start = math.random(0, 1) * 34, csum_offset = 16})
      if layers then
        accepted = accepted + 1
        assert.is_true(layers["end"] <= math.min(#text, 512))
        assert.is_true(layers.l4 < layers["end"] and layers.count >= 1)
        for k = 0, layers.count - 1 do
          assert.is_true(layers.of[k].at + 8 <= layers.l4)
        end
      end
    end
    assert.is_true(accepted > 100)
  end)
end)

describe("joining", function ()
  local function three()
    local whole, start = frame(asTcp4, 3000)
    return offload.segments(whole, {flags = NEEDS_CSUM, gso_type = TCPV4,
      gso_size = 1000, csum_start = start, csum_offset = 16})
  end

  -- The packet with the byte at `at` (from 0) changed.
  local function changed(text, at, with)
    return text:sub(1, at) .. string.char(bit.bxor(text:byte(at + 1), with or 1))
      .. text:sub(at + 2)
  end

  -- With both checksums of IPv4 and TCP right.
  local function mended(text)
    local p = asTcp4(packet.from_string(text))
    p:calculateChecksums()
    local base = ffi.cast("struct packet *", p)
    text = ffi.string(base.data, base.length)
    packet.free(base)
    return text
  end

  it("takes a run", function () assert.equal(3, (offload.join(three()))) end)

  it("ends behind a packet that is to be pushed", function ()
    local packets = three()
    packets[2] = mended(changed(packets[2], 47, PSH))
    assert.equal(2, (offload.join(packets)))
  end)

  for what, at in pairs {["a wrong checksum"] = 500, ["another destination"] = 33,
    ["another lifetime"] = 22, ["another identification"] = 19, ["another port"] = 37,
    ["another sequence number"] = 41, ["another window"] = 48, ["SYN"] = 47} do
    it("ends before " .. what, function ()
      local packets = three()
      packets[2] = changed(packets[2], at, what == "SYN" and 2 or nil)
      if at ~= 500 then packets[2] = mended(packets[2]) end
      assert.equal(1, (offload.join(packets)))
    end)
  end

  it("leaves a first packet with a wrong checksum alone", function ()
    local packets = three()
    packets[1] = changed(packets[1], 500)
    assert.equal(1, (offload.join(packets)))
  end)

  it("makes no frame that IPv4 can't have", function ()
    local whole, start = frame(asTcp4, 9000)
    local packets = {}
    for i = 1, 12 do
      local part = offload.segments(whole, {flags = NEEDS_CSUM, gso_type = TCPV4,
        gso_size = 9000, csum_start = start, csum_offset = 16})[1]
      local p = asTcp4(packet.from_string(part))
      p.tcp:setSeqNumber((0xfffff000 + (i - 1) * 9000) % 2^32)
      p.ip4:setID(p.ip4:getID() + i - 1)
      p:calculateChecksums()
      local base = ffi.cast("struct packet *", p)
      packets[i] = ffi.string(base.data, base.length)
      packet.free(base)
    end
    assert.equal(7, (offload.join(packets)))
  end)
end)
