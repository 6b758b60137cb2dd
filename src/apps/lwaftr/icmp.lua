-- SPDX-License-Identifier: Apache-2.0
-- ICMP errors that the lwAFTR sends, about packets that it has (RFC 792, RFC 1812, RFC
-- 4443). Their Ethernet addresses are left zero.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local ip4 = require("net.ip.ip4")
local checksum = require("net.checksum.checksum")
local packet = require("core.packet")
local wire = require("net.wire.bytes")

local icmp = {}

local write16 = wire.write16
local ETHERNET, IP4, IP6, ICMP = 14, 20, 40, 8 -- bytes
local MOST4, MOST6 = 576, 1280 -- bytes of an error: RFC 1812 4.3.2.3, RFC 4443 2.4 (c)
local LIFE = 255

--- Types and codes of errors.
icmp.HOST_UNREACHABLE = {type = 3, code = 1}
icmp.TOO_BIG = {type = 3, code = 4}
icmp.EXPIRED = {type = 11, code = 0}
icmp.POLICY6 = {type = 1, code = 5}

-- An empty packet for an error of at most `most` bytes, whose headers take `headers`,
-- about `p` from offset `skip` on; with it the ICMP message's place and length.
local function begin(p, skip, kind, headers, most)
  local quoted = math.min(p.length - skip, most - headers - ICMP)
  local length = ICMP + quoted
  local error_packet = packet.resize(packet.allocate(), ETHERNET + headers + length)
  local message = error_packet.data + ETHERNET + headers
  message[0], message[1] = kind.type, kind.code
  ffi.copy(message + ICMP, p.data + skip, quoted)
  return error_packet, message, length
end

--- An ICMPv4 error from the address `from` (a number) to the one at `to` (4 bytes),
--- about what the packet `p` has from offset `skip` on. `mtu` goes with TOO_BIG.
function icmp.error4(from, to, p, skip, kind, mtu)
  local e, message, length = begin(p, skip, kind, IP4, MOST4)
  local ip = e.data + ETHERNET
  write16(e.data + 12, ether_type.IP4)
  ip[0], ip[8], ip[9] = 0x45, LIFE, 1
  write16(ip + 2, IP4 + length)
  write16(ip + 12, bit.rshift(bit.tobit(from), 16))
  write16(ip + 14, bit.tobit(from))
  ffi.copy(ip + 16, to, 4)
  ip4.set_checksum(ip, IP4)
  if mtu then write16(message + 6, mtu) end
  write16(message + 2, checksum.of(message, length))
  return e
end

--- An ICMPv6 error between the addresses at `from` and `to` (16 bytes) about `p`.
function icmp.error6(from, to, p, kind)
  local e, message, length = begin(p, ETHERNET, kind, IP6, MOST6)
  local ip = e.data + ETHERNET
  write16(e.data + 12, ether_type.IP6)
  ip[0], ip[6], ip[7] = 0x60, 58, LIFE
  write16(ip + 4, length)
  ffi.copy(ip + 8, from, 16)
  ffi.copy(ip + 24, to, 16)
  write16(message + 2, checksum.of(message, length, checksum.pseudo6(ip, 58, length)))
  return e
end

return icmp
