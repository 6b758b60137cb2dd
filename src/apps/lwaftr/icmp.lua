-- SPDX-License-Identifier: Apache-2.0
-- ICMP errors that the lwAFTR sends, about packets that it has (RFC 792, RFC 1812, RFC
-- 4443). Their Ethernet addresses are left zero.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local C = require("core.declare")("net/icmp/icmp.h")
local packet = require("core.packet")
local wire = require("net.wire.bytes")

local icmp = {}

local ETHERNET, IP4, IP6, ICMP = 14, 20, 40, 8 -- bytes
local MOST4, MOST6 = 576, 1280 -- bytes of an error: RFC 1812 4.3.2.3, RFC 4443 2.4 (c)
local LIFE = 255

local function kind(type_, code) return ffi.new("struct icmp_kind", type_, code) end

--- Types and codes of errors.
icmp.HOST_UNREACHABLE, icmp.TOO_BIG, icmp.EXPIRED = kind(3, 1), kind(3, 4), kind(11, 0)
icmp.POLICY6 = kind(1, 5)

-- An empty packet for an error whose headers are `headers` bytes, and what there is to
-- quote of `p` from offset `skip` on, at most `most` bytes in all; with it the bytes
-- quoted.
local function begin(p, skip, type_, headers, most)
  local quoted = math.min(p.length - skip, most - headers - ICMP)
  local e = packet.resize(packet.allocate(), ETHERNET + headers + ICMP + quoted)
  wire.write16(e.data + 12, type_)
  return e, quoted
end

--- An ICMPv4 error from the address `from` (a number) to the one at `to` (4 bytes),
--- about what the packet `p` has from offset `skip` on. `mtu` goes with TOO_BIG.
function icmp.error4(from, to, p, skip, what, mtu)
  local e, quoted = begin(p, skip, ether_type.IP4, IP4, MOST4)
  what.word = mtu or 0
  C.pg_icmp4_error(e.data + ETHERNET, IP4, 0, LIFE, bit.bswap(bit.tobit(from)), to,
    what, p.data + skip, quoted)
  return e
end

--- An ICMPv6 error between the addresses at `from` and `to` (16 bytes) about `p`.
function icmp.error6(from, to, p, what)
  local e, quoted = begin(p, ETHERNET, ether_type.IP6, IP6, MOST6)
  C.pg_icmp6_error(e.data + ETHERNET, from, to, what, 0, p.data + ETHERNET, quoted)
  return e
end

return icmp
