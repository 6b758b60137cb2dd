-- SPDX-License-Identifier: Apache-2.0
-- DecTtl: counts an IPv4 packet's time to live down, and its checksum with it
-- (RFC 1624). Behind CheckHeader: it looks at nothing but the length.

local ffi = require("ffi")

local DecTtl = {drops = {"ttl_expired", "short"}}
DecTtl.__index = DecTtl
DecTtl.division = "any"
DecTtl.reconfig_keeps = {}
local TTL_EXPIRED, SHORT = 1, 2

DecTtl.link_names = {input = {input = true}, output = {output = true}}

local HEADERS = 34
local TTL, CHECKSUM = 22, 24 -- offsets in the frame
local band, rshift, tobit = bit.band, bit.rshift, bit.tobit
local word_t = ffi.typeof("uint16_t *")
-- ~m + m' of RFC 1624's equation 3, for the word of TTL and protocol as this CPU
-- reads it: the TTL is its first byte.
local DIFFERENCE = 0xffff - (ffi.abi("le") and 0x0001 or 0x0100)

function DecTtl:new()
  return setmetatable({}, self)
end

function DecTtl.process(_, p)
  if p.length < HEADERS then return nil, SHORT end
  local data = p.data
  local ttl = data[TTL]
  if ttl <= 1 then return nil, TTL_EXPIRED end
  data[TTL] = tobit(ttl - 1)
  local check = ffi.cast(word_t, data + CHECKSUM)
  local sum = tobit(0xffff - check[0] + DIFFERENCE)
  check[0] = tobit(0xffff - (band(sum, 0xffff) + rshift(sum, 16)))
  return p
end

return {DecTtl = DecTtl}
