-- SPDX-License-Identifier: Apache-2.0
-- IPv4 behind an Ethernet header: its lengths, its checksum.

local C = require("core.declare")("net/checksum/checksum.h")
local wire = require("net.wire.bytes")

local band, read16, write16 = bit.band, wire.read16, wire.write16

local ip4 = {ETHERNET = 14}

local ETHERNET, SHORTEST = ip4.ETHERNET, 34

--- Has a frame of `length` bytes the EtherType of IPv4?
function ip4.is_ipv4(data, length)
  return length >= ETHERNET and data[12] == 8 and data[13] == 0
end

--- Of a frame of `length` bytes with the EtherType of IPv4: the bytes of its headers,
--- Ethernet's and IP's, and those that IP's length tells of. 0 and 0 if it lacks some
--- of them.
function ip4.lengths(data, length)
  if length < SHORTEST then return 0, 0 end
  local header = band(data[ETHERNET], 15) * 4
  local total = read16(data + ETHERNET + 2)
  if header < 20 or total < header or total + ETHERNET > length then return 0, 0 end
  return ETHERNET + header, total
end

--- Of any frame of `length` bytes what lengths() says; -1 if it isn't IPv4's.
function ip4.measure(data, length)
  if not ip4.is_ipv4(data, length) then return -1, 0 end
  return ip4.lengths(data, length)
end

--- Set the checksum of the IPv4 header of `header` bytes at `ip`.
function ip4.set_checksum(ip, header)
  ip[10], ip[11] = 0, 0
  write16(ip + 10, C.pg_checksum(ip, header, 0))
end

return ip4
