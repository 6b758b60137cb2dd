-- SPDX-License-Identifier: Apache-2.0
-- Reassembler: puts fragmented IPv4 packets together (RFC 791, section 3.2). What isn't
-- a fragment passes.

local ffi = require("ffi")
local ip4 = require("net.ip.ip4")
local reassembler = require("lib.reassembler")
local wire = require("net.wire.bytes")

local band = bit.band
local transmit = require("core.link").transmit
local read16, write16 = wire.read16, wire.write16

local ETHERNET = ip4.ETHERNET
local MORE, OFFSET, FRAGMENT = 0x2000, 0x1fff, 0x3fff

-- What a datagram is known by: source, destination, identification, protocol.
local key_t = ffi.typeof[[
  struct { uint8_t addresses[8], id[2], protocol, zero; }
]]
-- Bytes that Snabb's table has for each: its key, and a packet by value.
local SNABB_KEY, SNABB_PACKET = 12, 10242

local Reassembler = reassembler.class("ipv4")

function Reassembler:new(arg)
  return reassembler.new(Reassembler, arg, key_t, SNABB_KEY, SNABB_PACKET)
end

-- Take the bytes of a fragment; `p` stays the caller's.
local function add(self, output, p, headers, total)
  local ip, key = p.data + ETHERNET, self.key
  ffi.copy(key.addresses, ip + 12, 8)
  key.id[0], key.id[1], key.protocol = ip[4], ip[5], ip[9]
  local flags = read16(ip + 6)
  local whole = self:add(p.data + headers, band(flags, OFFSET) * 8,
    total + ETHERNET - headers, band(flags, MORE) ~= 0, p.data, headers)
  if not whole then return end
  local out = whole.data + ETHERNET
  write16(out + 2, whole.length - ETHERNET)
  write16(out + 4, 0)
  write16(out + 6, 0)
  ip4.set_checksum(out, band(out[0], 15) * 4)
  transmit(output, whole)
end

local function is_fragment(_, data)
  return band(read16(data + ETHERNET + 6), FRAGMENT) ~= 0
end

Reassembler.push = reassembler.push("ipv4", is_fragment, add)

return {Reassembler = Reassembler}
