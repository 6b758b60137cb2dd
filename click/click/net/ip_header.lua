-- SPDX-License-Identifier: Apache-2.0
-- The IPv4 header where a packet's annotation says, for elements behind
-- CheckIPHeader: as far as the packet has it, whatever the annotation says. And that of
-- packets that elements make.

local bit = require("bit")
local C = require("core.declare")("net/checksum/checksum.h")
local ffi = require("ffi")
local note = require("click.note")
local wire = require("click.net.wire")

local band, lshift, rshift = bit.band, bit.lshift, bit.rshift
local swap16 = wire.swap16
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local NETWORK = note.NETWORK_HEADER
local MINIMAL = 20 -- bytes

local ip_header = {}

--- A pointer to at least 20 bytes of header, and the bytes from it on to the packet's
--- end; or nil.
function ip_header.begin(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if at == 0 or at + MINIMAL > limit then return nil end
  return p.buf_addr + at, limit - at
end

--- A pointer to the header, its length with options, and the bytes from it on to the
--- packet's end; or nil where the packet lacks some of the header.
function ip_header.whole(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if at == 0 or at + MINIMAL > limit then return nil end
  local ip = p.buf_addr + at
  local header = lshift(band(ip[0], 15), 2)
  if header < MINIMAL or at + header > limit then return nil end
  return ip, header, limit - at
end

--- The same of the header `at` bytes behind the packet's begin, if it is IPv4's.
function ip_header.at(p, at)
  local left = p.length - at
  if left < MINIMAL then return nil end
  local ip = p.data + at
  local header = lshift(band(ip[0], 15), 2)
  if rshift(ip[0], 4) ~= 4 or header < MINIMAL or left < header then return nil end
  return ip, header, left
end

--- Write the header of a packet that begins with room for it, 20 bytes: of these
--- addresses (words), with its checksum. The packet's annotations say where it is.
function ip_header.write(p, protocol, source, destination, id, ttl)
  local ip, n, at = p.data, p.note16, p.data_off
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  ip[0], ip[1], ip[8], ip[9] = 0x45, 0, ttl, protocol
  halves[1], halves[2], halves[3], halves[5] = swap16(p.length), swap16(id), 0, 0
  words[3], words[4] = source, destination
  wire.barrier()
  halves[5] = C.pg_checksum_word(ip, MINIMAL)
  p.note32[note.DST_IP] = destination
  n[NETWORK], n[note.TRANSPORT_HEADER] = at, at + MINIMAL
end

return ip_header
