-- SPDX-License-Identifier: Apache-2.0
-- The outer headers to a remote (RFC 7348, section 5): Ethernet, IPv4 or IPv6, UDP and
-- VXLAN, with zeros for what differs from packet to packet; Encap sets that.

local ffi = require("ffi")
local packet = require("core.packet")
local createStack = require("lib.stack").createStack

local header = {}

--- The stack of an encapsulated packet by the family of its outer IP header.
header.stack = {
  [4] = createStack("eth", {"ip4", name = "outer"}, "udp", "vxlan",
                    {"eth", name = "innerEth"}),
  [6] = createStack("eth", {"ip6", name = "outer"}, "udp", "vxlan",
                    {"eth", name = "innerEth"}),
}

--- Bytes from the outer Ethernet header to VXLAN by family.
header.SIZE = {[4] = 50, [6] = 70}

local IP, UDP = 14, 34 -- offset of IP; offset of UDP behind IPv4
local ADDRESSES = {[4] = {26, 8}, [6] = {22, 32}} -- offset and bytes of both
local UDP_PROTOCOL = 17
local DONT_FRAGMENT = 2

-- The sum of a string's 16-bit words in network order (RFC 1071), not folded.
local function sum_of(bytes)
  local sum = 0
  for i = 1, #bytes, 2 do
    local high, low = bytes:byte(i, i + 1)
    sum = sum + high * 256 + low
  end
  return sum
end

local function bytes_of(s, to)
  local p = packet.allocate()
  local pkt = header.stack[s.family](p)
  pkt:fill{
    ethDst = "00:00:00:00:00:00", ethSrc = s.mac_text, outerSrc = s.address_text,
    outerDst = to, outerTTL = s.ttl, outerLength = 0, udpSrc = 0, udpDst = s.port,
    udpLength = 0, vxlanVNI = 0,
  }
  if s.family == 4 then pkt.outer:setFlags(DONT_FRAGMENT) end
  local bytes = ffi.string(p.data, header.SIZE[s.family])
  packet.free_internal(p)
  return bytes
end

--- The headers' bytes to the address `to` (text), with settings `s`; the sum of the
--- words of IPv4's header, with which its checksum begins; and that of the pseudo
--- header for UDP's checksum, but for the length.
function header.make(s, to)
  local bytes = bytes_of(s, to)
  local from, size = unpack(ADDRESSES[s.family])
  local pseudo = sum_of(bytes:sub(from + 1, from + size)) + UDP_PROTOCOL
  return bytes, s.family == 4 and sum_of(bytes:sub(IP + 1, UDP)) or 0, pseudo
end

return header
