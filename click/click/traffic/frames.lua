-- SPDX-License-Identifier: Apache-2.0
-- Frames that sources send again and again: Ethernet, IPv4, and UDP, TCP or ICMP, as
-- bytes in memory, with the sums that their checksums are made of.

local C = require("core.declare")("net/checksum/checksum.h")
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")

local frames = {}

local ETHERNET, IP = 14, 20
frames.IP, frames.TRANSPORT = ETHERNET, ETHERNET + IP -- offsets in a frame

local bytes_type = ffi.typeof("uint8_t[?]")

local function put16(bytes, at, value)
  bytes[at], bytes[at + 1] = math.floor(value / 256) % 256, value % 256
end
frames.put16 = put16

--- Write a number of 32 bits, in network byte order.
function frames.put32(bytes, at, value)
  put16(bytes, at, math.floor(value / 65536))
  put16(bytes, at + 2, value % 65536)
end

--- A frame of `length` bytes, zero behind its IP header. `o`: source and destination
--- (6 bytes each), from and to (addresses, numbers), protocol, ttl (250), id (0).
function frames.ip(length, o)
  local bytes = bytes_type(length)
  ffi.copy(bytes, o.destination, 6)
  ffi.copy(bytes + 6, o.source, 6)
  put16(bytes, 12, ether_type.IP4)
  bytes[ETHERNET] = 0x45
  put16(bytes, ETHERNET + 2, length - ETHERNET)
  put16(bytes, ETHERNET + 4, o.id or 0)
  bytes[ETHERNET + 8], bytes[ETHERNET + 9] = o.ttl or 250, o.protocol
  frames.put32(bytes, ETHERNET + 12, o.from)
  frames.put32(bytes, ETHERNET + 16, o.to)
  put16(bytes, ETHERNET + 10, C.pg_checksum(bytes + ETHERNET, IP, 0))
  return bytes
end

--- The sum of the pseudo header of such a frame and of all behind its IP header.
function frames.transport_sum(bytes, length)
  local size = length - ETHERNET - IP
  local pseudo = C.pg_pseudo_sum(bytes + ETHERNET + 12, 8, bytes[ETHERNET + 9], size)
  return 0xffff - C.pg_checksum(bytes + ETHERNET + IP, size, pseudo)
end

return frames
