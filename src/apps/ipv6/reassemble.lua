-- SPDX-License-Identifier: Apache-2.0
-- Reassembler: puts fragmented IPv6 packets together (RFC 8200, section 4.5). What has
-- no fragment header right behind IPv6's passes.

local ffi = require("ffi")
local ip6 = require("net.ip.ip6")
local counter = require("core.counter")
local reassembler = require("lib.reassembler")
local wire = require("net.wire.bytes")

local band = bit.band
local transmit = require("core.link").transmit
local read16, write16 = wire.read16, wire.write16

local ETHERNET, HEADERS, FRAGMENT = ip6.ETHERNET, ip6.HEADERS, ip6.FRAGMENT
local FRAGMENT_HEADER, MORE, OFFSET = 8, 1, 0xfff8
local NEXT_HEADER = 20 -- place in the frame

-- What a datagram is known by: source, destination, identification.
local key_t = ffi.typeof("struct { uint8_t addresses[32], id[4]; }")
local SNABB_KEY, SNABB_VALUE = 36, 16 -- bytes in Snabb's table

local Reassembler = reassembler.class("ipv6")

function Reassembler:new(arg)
  return reassembler.new(Reassembler, arg, key_t, SNABB_KEY, SNABB_VALUE)
end

-- Take the bytes of a fragment with `size` bytes of payload, fragment header and all;
-- `p` stays the caller's.
local function add(self, output, p, size)
  local data, key = p.data, self.key
  local header = data + HEADERS
  ffi.copy(key.addresses, data + 22, 32)
  ffi.copy(key.id, header + 4, 4)
  local place = read16(header + 2)
  -- The first fragment's header says what follows; it gets its place in IPv6's.
  data[NEXT_HEADER] = header[0]
  local whole = self:add(header + FRAGMENT_HEADER, band(place, OFFSET),
    size - FRAGMENT_HEADER, band(place, MORE) ~= 0, data, HEADERS)
  if not whole then return end
  write16(whole.data + 18, whole.length - HEADERS)
  transmit(output, whole)
end

local function is_fragment(_, data) return data[NEXT_HEADER] == FRAGMENT end

Reassembler.push = reassembler.push("ipv6", is_fragment,
  function (self, output, p, _, total)
    local size = total - (HEADERS - ETHERNET)
    if size < FRAGMENT_HEADER then
      counter.add(self.shm["drop-ipv6-frag-invalid-length"])
    else
      add(self, output, p, size)
    end
  end)

return {Reassembler = Reassembler}
