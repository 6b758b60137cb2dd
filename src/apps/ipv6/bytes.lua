-- SPDX-License-Identifier: Apache-2.0
-- What the apps of this folder read and write in frames, as bytes: accesses of several
-- widths to the same bytes LuaJIT may reorder.

local C = require("core.native")

local band, rshift = bit.band, bit.rshift

local bytes = {
  ETHERNET = 14, HEADERS = 54, -- Ethernet's and IPv6's
  FRAGMENT = 44, ICMP = 58, -- next headers
  LEAST_MTU = 1280, -- RFC 8200, section 5
}
local ETHERNET, HEADERS = bytes.ETHERNET, bytes.HEADERS

--- The number in the two bytes at `p`.
function bytes.read16(p) return p[0] * 256 + p[1] end

--- Write `value` to the two bytes at `p`.
function bytes.write16(p, value)
  p[0], p[1] = band(rshift(value, 8), 0xff), band(value, 0xff)
end

--- Write `value` to the four bytes at `p`.
function bytes.write32(p, value)
  p[0], p[1] = band(rshift(value, 24), 0xff), band(rshift(value, 16), 0xff)
  p[2], p[3] = band(rshift(value, 8), 0xff), band(value, 0xff)
end

--- Has a frame of `length` bytes the EtherType of IPv6?
function bytes.is_ipv6(data, length)
  return length >= ETHERNET and data[12] == 0x86 and data[13] == 0xdd
end

--- The payload's bytes of an IPv6 frame of `length` bytes; -1 if it lacks some of them.
function bytes.payload(data, length)
  if length < HEADERS then return -1 end
  local payload = data[18] * 256 + data[19]
  return payload <= length - HEADERS and payload or -1
end

--- The checksum of the `size` bytes behind the IPv6 header of the frame at `data`, with
--- the pseudo header for `protocol` (RFC 8200, section 8.1). Over bytes with their
--- checksum in place it is 0 if that is right.
function bytes.checksum(data, protocol, size)
  local addresses = 0xffff - C.pg_checksum(data + 22, 32, 0)
  local sum = addresses + size + protocol
  if sum > 0xffff then sum = sum - 0xffff end
  return (C.pg_checksum(data + HEADERS, size, sum))
end

return bytes
