-- SPDX-License-Identifier: Apache-2.0

local CheckHeader = require("apps.ip.check_header.check_header").CheckHeader
local packet = require("core.packet")

local ETHERNET = ("\2"):rep(12) .. "\8\0"
-- 192.168.0.1 to 192.168.0.199, UDP, 115 bytes
local HEADER = "\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\xb8\x61"
  .. "\xc0\xa8\x00\x01\xc0\xa8\x00\xc7"
local FRAME = ETHERNET .. HEADER .. ("x"):rep(95)
local app = CheckHeader:new()

-- The frame with the byte at `place` (from 0) replaced.
local function with(frame, place, byte)
  return frame:sub(1, place) .. string.char(byte) .. frame:sub(place + 2)
end

-- "pass", or the name of the drop.
local function verdict(frame)
  local p = packet.from_string(frame)
  local q, reason = app:process(p)
  if q ~= nil then assert.equal(p, q) end
  packet.free(p)
  return q ~= nil and "pass" or CheckHeader.drops[reason]
end

-- RFC 1071 over a header whose checksum field is zero: its two bytes.
local function checksum(header)
  local sum = 0
  for i = 1, #header, 2 do
    local high, low = header:byte(i, i + 1)
    sum = sum + high * 256 + low
  end
  while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
  sum = 0xffff - sum
  return string.char(math.floor(sum / 256), sum % 256)
end

describe("CheckHeader", function ()
  it("passes a sound header", function ()
    assert.equal("pass", verdict(FRAME))
    assert.equal("pass", verdict(FRAME .. "padding"))
  end)

  it("drops a header with any bit of it wrong", function ()
    for place = 14, 33 do
      for b = 0, 7 do
        local byte = bit.bxor(FRAME:byte(place + 1), 2 ^ b)
        assert.not_equal("pass", verdict(with(FRAME, place, byte)))
      end
    end
    assert.equal("bad_checksum", verdict(with(FRAME, 33, 0)))
  end)

  it("looks at no byte behind the frame", function ()
    for length = 0, 33 do assert.equal("short", verdict(FRAME:sub(1, length))) end
    for length = 34, #FRAME - 1 do
      assert.equal("bad_length", verdict(FRAME:sub(1, length)))
    end
  end)

  it("drops what isn't IPv4, by name", function ()
    assert.equal("not_ipv4", verdict(with(FRAME, 13, 6)))
    assert.equal("not_ipv4", verdict(with(FRAME, 12, 0x86)))
    assert.equal("bad_version", verdict(with(FRAME, 14, 0x65)))
    assert.equal("bad_version", verdict(with(FRAME, 14, 0x44)))
    assert.equal("bad_length", verdict(with(with(FRAME, 16, 0), 17, 19)))
    assert.equal("bad_length", verdict(with(FRAME, 14, 0x4f):sub(1, 60)))
  end)

  it("includes options in the checksum", function ()
    for options = 1, 10 do
      local first, rest = string.char(0x45 + options), HEADER:sub(2, 10)
      local behind = HEADER:sub(13) .. ("\1\7\255\3"):rep(options)
      local sum = checksum(first .. rest .. "\0\0" .. behind)
      local frame = ETHERNET .. first .. rest .. sum .. behind .. ("x"):rep(95)
      assert.equal("pass", verdict(frame))
      assert.equal("bad_checksum", verdict(with(frame, 34 + 4 * options - 1, 9)))
    end
  end)
end)
