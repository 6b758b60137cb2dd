-- SPDX-License-Identifier: Apache-2.0
-- Which protocol a packet's first header is of. A graph may take Ethernet's header off
-- (Click's Strip, tunnels) and says nowhere that it did: it shows in the bytes. Pure.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local checksum = require("net.checksum.checksum")

local first_header = {}

--- What a packet begins with of which only bytes behind all known headers are left.
first_header.PAYLOAD = "payload"

local ETHERNET = "eth"
local IP4_SIZE, IP6_SIZE = 20, 40
local MULTICAST = 0xff -- the first byte of an IPv6 address
local TYPE_OFFSET = 12 -- EtherType's
local KNOWN_TYPES = {}
for _, name in ipairs{"IP4", "IP6", "ARP", "MPLS", "MPLS_MULTICAST", "VLAN", "QINQ"} do
  KNOWN_TYPES[ether_type[name]] = true
end

-- Options, IPv4, TCP, UDP, IPv6, routing, fragment, GRE, ESP, AH, ICMPv6, none,
-- destination options, SCTP (IANA's numbers).
local NEXT_HEADERS = {}
for _, number in ipairs{0, 4, 6, 17, 41, 43, 44, 47, 50, 51, 58, 59, 60, 132} do
  NEXT_HEADERS[number] = true
end

local function u16(bytes, offset)
  local high, low = bytes:byte(offset + 1, offset + 2)
  return high * 256 + low
end

local function has_known_type(bytes)
  return #bytes >= TYPE_OFFSET + 2 and KNOWN_TYPES[u16(bytes, TYPE_OFFSET)] or false
end

-- RFC 791, section 3.1: the version, both lengths and the checksum are right.
local function is_ip4(bytes, length)
  if #bytes < IP4_SIZE then return false end
  local first = bytes:byte(1)
  local size, total = first % 16 * 4, u16(bytes, 2)
  if first < 0x45 or first > 0x4f or #bytes < size then return false end
  return total >= size and total <= length
    and checksum.of(ffi.cast("const uint8_t *", bytes), size) == 0
end

-- RFC 8200, section 3: the version and the length are right, the next header is a usual
-- one, and the source address is no group. There is no checksum, so bytes that could be
-- Ethernet's are taken as such.
local function is_ip6(bytes, length)
  if #bytes < IP6_SIZE or math.floor(bytes:byte(1) / 16) ~= 6 then return false end
  local payload = u16(bytes, 4)
  return payload > 0 and payload + IP6_SIZE <= length and NEXT_HEADERS[bytes:byte(7)]
    and bytes:byte(9) ~= MULTICAST and not has_known_type(bytes)
end

--- The name of the first header's protocol, "ip4", "ip6" or "eth", by the first `bytes`
--- of a packet of `length` bytes.
function first_header.of(bytes, length)
  if is_ip4(bytes, length) then return "ip4" end
  if is_ip6(bytes, length) then return "ip6" end
  return ETHERNET
end

-- How many bytes were taken from the front of `before`, if nothing else was changed.
local function taken_off(before, after, n)
  local common = math.min(#after, #before - n)
  return common > 0 and before:sub(n + 1, n + common) == after:sub(1, common)
end

-- Which of the headers begins at the offset.
local function at_offset(headers, offset)
  for _, header in ipairs(headers) do
    if header.offset == offset then return header.name end
  end
end

--- The same of a packet that was `before` (as of lib.observe.changes) and is `after`
--- now, {bytes =, length =}.
function first_header.after(before, after)
  local n = before.length - after.length
  if n > 0 and taken_off(before.bytes, after.bytes, n) then
    local name = at_offset(before.headers, n)
    if name then return name end
    local last = before.headers[#before.headers]
    if last and n > last.offset then return first_header.PAYLOAD end
  end
  local first = before.headers[1] and before.headers[1].name
  local seems = first_header.of(after.bytes, after.length)
  -- A header that is changed may have a wrong checksum until it is set.
  local same = n == 0 and before.bytes:byte(1) == after.bytes:byte(1)
  if seems == ETHERNET and same and first then return first end
  return seems
end

return first_header
