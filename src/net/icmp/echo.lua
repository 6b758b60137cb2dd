-- SPDX-License-Identifier: Apache-2.0
-- Echo requests (RFC 792; RFC 4443, section 4.1) in Ethernet frames, found and turned
-- into their own answers. ICMP's checksum changes by what changed (RFC 1624): a message
-- that arrived damaged leaves as damaged. IPv4's is that of the new header.

local C = require("core.declare")("net/checksum/checksum.h")
local checksum = require("net.checksum.checksum")
local ip4 = require("net.ip.ip4")
local ip6 = require("net.ip.ip6")
local wire = require("net.wire.bytes")

local band = bit.band
local read16, write16, swap = wire.read16, wire.write16, wire.swap

local echo = {REQUEST4 = 8, REPLY4 = 0, REQUEST6 = 128, REPLY6 = 129}

local HEADER = 8 -- bytes: type, code, checksum, identifier, sequence number
local ETHERNET, HEADERS = ip4.ETHERNET, ip6.HEADERS
local SHORTEST = ETHERNET + 20 + HEADER
local ICMP4, ICMP6 = 1, ip6.ICMP
local FRAGMENT = 0x3fff -- offset, and "more fragments"
local GROUPS = 224 -- and all above, the first byte of what is no host's address

-- Is it a host's, the IPv4 or IPv6 address of whoever asks? Not "this network", nor a
-- group (RFC 1122, section 3.2.1.3; RFC 4291, section 2.7).
local function is_host4(ip) return ip[0] ~= 0 and ip[0] < GROUPS end
local function is_host6(ip) return ip[0] ~= 0xff and not ip6.is_unspecified(ip) end

--- Of a frame of `length` bytes at `data`: the offset of the ICMP message if it is a
--- whole echo request over IPv4, isn't a fragment and asks in a host's name; or 0.
function echo.request4(data, length)
  if length < SHORTEST or data[12] ~= 8 or data[13] ~= 0 or data[23] ~= ICMP4 then
    return 0
  end
  local headers, total = ip4.lengths(data, length)
  if headers == 0 or total + ETHERNET < headers + HEADER
    or data[headers] ~= echo.REQUEST4 or data[headers + 1] ~= 0
    or band(read16(data + 20), FRAGMENT) ~= 0 or not is_host4(data + 26) then
    return 0
  end
  return headers
end

--- The same over IPv6, behind no other headers.
function echo.request6(data, length)
  if not ip6.is_ipv6(data, length) or ip6.payload(data, length) < HEADER
    or data[20] ~= ICMP6 or data[HEADERS] ~= echo.REQUEST6 or data[HEADERS + 1] ~= 0
    or not is_host6(data + 22) then
    return 0
  end
  return HEADERS
end

--- Make the echo request of `size` bytes at `message` (of IPv4) a reply.
function echo.reply4(message, size)
  local before = read16(message)
  write16(message, echo.REPLY4 * 256)
  local sum = checksum.update16(read16(message + 2), before, echo.REPLY4 * 256)
  write16(message + 2, sum)
  -- Of zeros alone the checksum is 0xffff, which the sum doesn't tell from 0.
  if sum == 0 and C.pg_checksum(message, size, 0) == 0xffff then
    write16(message + 2, 0xffff)
  end
end

--- Turn the frame with an echo request at offset `at` (request4) around; its TTL
--- becomes `ttl`.
function echo.turn4(data, at, ttl)
  swap(data, data + 6, 6)
  swap(data + 26, data + 30, 4)
  data[22] = ttl
  write16(data + 24, 0)
  write16(data + 24, C.pg_checksum(data + ETHERNET, at - ETHERNET, 0))
  echo.reply4(data + at, read16(data + 16) + ETHERNET - at)
end

--- The same of a frame that request6 has found.
function echo.turn6(data, at, ttl)
  swap(data, data + 6, 6)
  swap(data + 22, data + 38, 16)
  data[21], data[at] = ttl, echo.REPLY6
  write16(data + at + 2, checksum.update16(read16(data + at + 2),
    echo.REQUEST6 * 256, echo.REPLY6 * 256))
end

return echo
