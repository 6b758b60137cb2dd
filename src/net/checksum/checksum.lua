-- SPDX-License-Identifier: Apache-2.0
-- Internet checksums (RFC 1071) and CRC32c, by the shim's kernels. Numbers are in
-- host order: a checksum is ready for htons, or for a header's setChecksum.
-- Whoever calls these sees to it that the bytes are there. The results are in
-- parentheses so that none is a tail call, of which a trace may have only 15.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")

local band, bnot, rshift, tobit = bit.band, bit.bnot, bit.rshift, bit.tobit

local checksum = {TCP = 6, UDP = 17, ICMP = 1, ICMPV6 = 58} -- IANA's numbers

--- The checksum of the `length` bytes at `pointer`. `initial`, 0 if not given, is
--- added to their sum: one of pseudo4 or pseudo6, or bit.bnot() of the checksum of
--- an even number of bytes before them. Over bytes with a right checksum it is 0.
function checksum.of(pointer, length, initial)
  return (C.pg_checksum(pointer, length, initial or 0))
end

--- The sum over IPv4's pseudo header (RFC 9293, section 3.1) for the IPv4 header at
--- `ip`, a `protocol` number and the `length` of its packet in bytes.
function checksum.pseudo4(ip, protocol, length)
  return (C.pg_pseudo_sum(ffi.cast("uint8_t *", ip) + 12, 8, protocol, length))
end

--- The sum over IPv6's pseudo header (RFC 8200, section 8.1); as pseudo4.
function checksum.pseudo6(ip, protocol, length)
  return (C.pg_pseudo_sum(ffi.cast("uint8_t *", ip) + 8, 32, protocol, length))
end

--- The checksum `sum` after a 16-bit field it covers went from `old` to `new` (RFC
--- 1624, equation 3). UDP's 0, no checksum, is for the caller to tell.
function checksum.update16(sum, old, new)
  local total = band(bnot(sum), 0xffff) + band(bnot(old), 0xffff) + band(new, 0xffff)
  total = band(total, 0xffff) + rshift(total, 16)
  return (band(bnot(total + rshift(total, 16)), 0xffff))
end

--- The same after the sum of what it covers grew by `difference`: by new - old for each
--- word, as ~old + new (less than 2^31 in all; in the checksum's own order of bytes).
function checksum.changed(sum, difference)
  local total = tobit(0xffff - sum + difference)
  total = tobit(band(total, 0xffff) + rshift(total, 16))
  return (tobit(0xffff - band(tobit(total + rshift(total, 16)), 0xffff)))
end

--- The checksum whose words sum up to `sum`, which is less than 2^31.
function checksum.fold(sum)
  sum = tobit(band(sum, 0xffff) + rshift(sum, 16))
  sum = tobit(band(sum, 0xffff) + rshift(sum, 16))
  return (band(bnot(sum), 0xffff))
end

--- A checksum of UDP that was computed, as it is sent: 0 would say that there is none
--- (RFC 768), so that 0xffff stands for it. A 0 that was there before stays: don't ask.
function checksum.udp(sum) return sum == 0 and 0xffff or sum end

--- The CRC32c (RFC 9260, appendix A) of the bytes, after others whose CRC32c is
--- `previous`. SCTP stores it with the lowest byte first.
function checksum.crc32c(pointer, length, previous)
  return (C.pg_crc32c(pointer, length, previous or 0))
end

--- Set the checksum of the IPv4 header at offset `l3` of each of the `n` packets in
--- the array; in how many of them there is such a header. The others stay as they are.
function checksum.fill_ip4(packets, n, l3)
  return (C.pg_checksum_ip4(packets, n, l3))
end

--- Set the checksum of TCP, UDP, ICMP or ICMPv6 (`protocol`, a number) at offset `l4`
--- of each of the `n` packets, over IPv4 or IPv6 at `l3`; in how many it is there. It
--- covers what IP's length says, or less where the packet ends before.
function checksum.fill_l4(packets, n, l3, l4, protocol)
  return (C.pg_checksum_l4(packets, n, l3, l4, protocol))
end

return checksum
