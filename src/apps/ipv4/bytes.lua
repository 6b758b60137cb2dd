-- SPDX-License-Identifier: Apache-2.0
-- What the apps of this folder read and write in frames: 16 bits in network order, the
-- lengths of IPv4 behind an Ethernet header, its checksum. All as bytes: accesses of
-- several widths to the same bytes LuaJIT may reorder.

local C = require("core.native")

local band, rshift = bit.band, bit.rshift

local bytes = {ETHERNET = 14}

local ETHERNET, SHORTEST = bytes.ETHERNET, 34

--- The number in the two bytes at `p`.
function bytes.read16(p) return p[0] * 256 + p[1] end

--- Write `value` to the two bytes at `p`.
function bytes.write16(p, value)
  p[0], p[1] = band(rshift(value, 8), 0xff), band(value, 0xff)
end
local write16 = bytes.write16

--- Of a frame of `length` bytes with the EtherType of IPv4: the bytes of its headers,
--- Ethernet's and IP's, and those that IP's length tells of. 0 and 0 if it lacks some
--- of them.
function bytes.lengths(data, length)
  if length < SHORTEST then return 0, 0 end
  local header = band(data[ETHERNET], 15) * 4
  local total = data[ETHERNET + 2] * 256 + data[ETHERNET + 3]
  if header < 20 or total < header or total + ETHERNET > length then return 0, 0 end
  return ETHERNET + header, total
end

--- Set the checksum of the IPv4 header of `header` bytes at `ip`.
function bytes.set_checksum(ip, header)
  ip[10], ip[11] = 0, 0
  write16(ip + 10, C.pg_checksum(ip, header, 0))
end

return bytes
