-- SPDX-License-Identifier: Apache-2.0
-- IPv6 behind an Ethernet header: its length, the checksum of what it carries.

local C = require("core.declare")("net/checksum/checksum.h")
local ffi = require("ffi")
local read16 = require("net.wire.bytes").read16

ffi.cdef("int memcmp(const void *a, const void *b, size_t length);")

local ip6 = {
  ETHERNET = 14, HEADERS = 54, -- Ethernet's and IPv6's
  FRAGMENT = 44, ICMP = 58, -- next headers
  LEAST_MTU = 1280, -- RFC 8200, section 5
}
local ETHERNET, HEADERS = ip6.ETHERNET, ip6.HEADERS
local NOBODY = ("\0"):rep(16)

--- Has a frame of `length` bytes the EtherType of IPv6?
function ip6.is_ipv6(data, length)
  return length >= ETHERNET and data[12] == 0x86 and data[13] == 0xdd
end

--- Is the address (a pointer to 16 bytes) the unspecified one, ::?
function ip6.is_unspecified(address) return ffi.C.memcmp(address, NOBODY, 16) == 0 end

--- The payload's bytes of an IPv6 frame of `length` bytes; -1 if it lacks some of them.
function ip6.payload(data, length)
  if length < HEADERS then return -1 end
  local payload = read16(data + 18)
  return payload <= length - HEADERS and payload or -1
end

--- Of any frame of `length` bytes: the bytes of its headers, Ethernet's and IPv6's, and
--- those from IPv6's header on. 0 and 0 if it lacks some of them; -1 if it isn't IPv6.
function ip6.measure(data, length)
  if not ip6.is_ipv6(data, length) then return -1, 0 end
  local payload = ip6.payload(data, length)
  if payload < 0 then return 0, 0 end
  return HEADERS, HEADERS - ETHERNET + payload
end

--- The checksum of the `size` bytes behind the IPv6 header of the frame at `data`, with
--- the pseudo header for `protocol` (RFC 8200, section 8.1). Over bytes with their
--- checksum in place it is 0 if that is right.
function ip6.checksum(data, protocol, size)
  local pseudo = C.pg_pseudo_sum(data + 22, 32, protocol, size)
  return (C.pg_checksum(data + HEADERS, size, pseudo))
end

return ip6
