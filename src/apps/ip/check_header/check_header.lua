-- SPDX-License-Identifier: Apache-2.0
-- CheckHeader: passes on Ethernet frames with a sound IPv4 header and drops others,
-- by what is wrong (RFC 1812, section 5.2.2). Lengths are checked before bytes.

local read16 = require("net.wire.bytes").read16
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local lib = require("core.lib")

local CheckHeader = {
  drops = {"short", "not_ipv4", "bad_version", "bad_length", "bad_checksum"},
}
CheckHeader.__index = CheckHeader
CheckHeader.division = "any"
CheckHeader.reconfig_keeps = {}
local SHORT, NOT_IPV4, BAD_VERSION, BAD_LENGTH, BAD_CHECKSUM = 1, 2, 3, 4, 5

CheckHeader.link_names = {input = {input = true}, output = {output = true}}

local ETHERNET, MINIMAL = 14, 20 -- bytes of headers
local USUAL = 0x45 -- version 4, 20 bytes: no options
local IPV4 = lib.htons(ether_type.IP4) -- as this CPU reads it
local words_t = ffi.typeof("const uint16_t *")
local band, lshift, rshift, tobit = bit.band, bit.lshift, bit.rshift, bit.tobit

function CheckHeader:new()
  return setmetatable({}, self)
end

-- The header's length in bytes by its first byte, nil if that can't be.
local function header_length(first)
  local length = lshift(band(first, 15), 2)
  if rshift(first, 4) == 4 and length >= MINIMAL then return length end
end

-- Byte order doesn't matter to the checksum (RFC 1071, section 2B). LuaJIT adds as
-- integers what a bit operation uses, and as doubles otherwise.
local function with_options(words, sum, header)
  for i = MINIMAL / 2, header / 2 - 1 do sum = tobit(sum + words[i]) end
  return sum
end

function CheckHeader.process(_, p)
  local length = p.length
  if length < ETHERNET + MINIMAL then return nil, SHORT end
  local data = p.data
  if ffi.cast(words_t, data)[6] ~= IPV4 then return nil, NOT_IPV4 end
  local first, header = data[ETHERNET], MINIMAL
  if first ~= USUAL then
    header = header_length(first)
    if not header then return nil, BAD_VERSION end
  end
  local total = read16(data + ETHERNET + 2)
  if total < header or tobit(total + ETHERNET) > length then return nil, BAD_LENGTH end
  local w = ffi.cast(words_t, data + ETHERNET)
  local sum = tobit(
    w[0] + w[1] + w[2] + w[3] + w[4] + w[5] + w[6] + w[7] + w[8] + w[9])
  if header > MINIMAL then sum = with_options(w, sum, header) end
  -- The sum of 30 words at most: folded once it is 0xffff or it isn't a multiple.
  if tobit(band(sum, 0xffff) + rshift(sum, 16)) ~= 0xffff then
    return nil, BAD_CHECKSUM
  end
  return p
end

return {CheckHeader = CheckHeader}
