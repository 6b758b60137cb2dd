-- SPDX-License-Identifier: Apache-2.0
-- Between IPv4 and IPv6 without state (SIIT, RFC 7915, formerly RFC 2765): headers and
-- ICMP messages are translated, addresses of IPv6 hold one of IPv4 in their last bytes.
-- Packets begin with the IP header; fragments and packets within ICMP errors aren't
-- translated, as in Click.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local read16 = require("net.wire.bytes").read16
local wire = require("click.net.wire")

local barrier = wire.barrier
local band, lshift, rshift = bit.band, bit.lshift, bit.rshift
local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local swap16, open, cut = wire.swap16, front.open, front.cut
local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local HEADER4, HEADER6, ICMP_HEADER = 20, 40, 8 -- bytes
local TCP, UDP, ICMP4, ICMP6 = 6, 17, 1, 58
local SIZES = {[TCP] = 20, [UDP] = 8}
local DONT_FRAGMENT = swap16(0x4000)
local FRAGMENT = 0x3f -- in the first byte of flags and offset
local MAPPED = swap16(0xffff)

-- ICMP -----------------------------------------------------------------------------

-- By type: the other family's type, or a function of the message that gives type and
-- code, nil for neither (RFC 7915, sections 4.2 and 5.2).
local UNREACHABLE_CODES6 = {[0] = 0, 0, nil, 4, nil, 2, 0, 0, 0, 1, 1, 0, 0}
local UNREACHABLE_CODES4 = {[0] = 0, 10, 5, 1, 3}
local POINTERS6 = {[0] = 0, [2] = 4, [8] = 7, [9] = 6, [12] = 8, [16] = 24}
local POINTERS4 = {[0] = 0, [4] = 2, [6] = 9, [7] = 8, [8] = 12, [24] = 16}
local PROTOCOL_FIELD = 6 -- IPv6's next header

local function pointer6(m)
  local pointer = POINTERS6[m[4]] or 255
  ffi.cast(words_t, m)[1] = wire.word_of(pointer)
  return 4, 0
end

local function unreachable6(m)
  local code = m[1]
  if code == 2 then
    ffi.cast(words_t, m)[1] = wire.word_of(PROTOCOL_FIELD)
    return 4, 1
  elseif code == 4 then
    local mtu = swap16(ffi.cast(halves_t, m)[3])
    ffi.cast(words_t, m)[1] = wire.word_of(mtu == 0 and 0 or mtu + HEADER6 - HEADER4)
    return 2, 0
  end
  return 1, UNREACHABLE_CODES6[code] or 0
end

local TO_6 = {
  [0] = function () return 129, 0 end, [8] = function () return 128, 0 end,
  [3] = unreachable6, [11] = function (m) return 3, m[1] end, [12] = pointer6,
}

local function pointer4(m)
  if m[1] == 1 then return 3, 2 end
  local pointer = m[1] == 0 and POINTERS4[wire.number_of(ffi.cast(words_t, m)[1])]
  ffi.cast(words_t, m)[1] = 0
  m[4] = pointer or 255
  return 12, 0
end

local function too_big4(m)
  local mtu = wire.number_of(ffi.cast(words_t, m)[1])
  ffi.cast(words_t, m)[1] = 0
  ffi.cast(halves_t, m)[3] = swap16(math.max(math.min(mtu, 65535) - 20, 0))
  return 3, 4
end

local TO_4 = {
  [129] = function () return 0, 0 end, [128] = function () return 8, 0 end,
  [1] = function (m) return 3, UNREACHABLE_CODES4[m[1]] or 0 end,
  [2] = too_big4, [3] = function (m) return 11, m[1] end, [4] = pointer4,
}

-- Make the message one of the other family; false if it has no such.
local function translate_icmp(m, size, kinds)
  local translate = size >= ICMP_HEADER and kinds[m[0]]
  if not translate then return false end
  local kind, code = translate(m)
  m[0], m[1] = kind, code
  return true
end

local function is_whole(size, protocol) return size >= (SIZES[protocol] or 0) end

-- ProtocolTranslator46 -------------------------------------------------------------

local ProtocolTranslator46 = element.define{
  name = "ProtocolTranslator46", summary = "translates IPv4 packets to IPv6 ones",
  processing = "h/h", drops = {"can't be translated"},
}

local function mapped(to, word)
  ffi.fill(to, 16)
  ffi.cast(halves_t, to)[5] = MAPPED
  ffi.cast(words_t, to)[3] = word
end

-- The IPv4 header's length, its payload's, and the protocol; nil if it isn't sound.
local function examine4(p)
  local ip = p.data
  if p.length < HEADER4 or rshift(ip[0], 4) ~= 4 then return nil end
  local header, total = lshift(band(ip[0], 15), 2), read16(ip + 2)
  if header < HEADER4 or total < header or total > p.length
    or band(ip[6], FRAGMENT) ~= 0 or ip[7] ~= 0
    or not is_whole(total - header, ip[9]) then
    return nil
  end
  return header, total - header, ip[9]
end

function ProtocolTranslator46.process(_, p)
  local header, size, protocol = examine4(p)
  if not header then return nil, 1 end
  local ip = p.data
  local words, ttl = ffi.cast(words_t, ip), ip[8]
  local source, destination = words[3], words[4]
  if protocol == ICMP4 and not translate_icmp(ip + header, size, TO_6) then
    return nil, 1
  end
  p.length = header + size
  cut(p, header)
  if not open(p, HEADER6) then return nil, 1 end
  local ip6 = p.data
  ffi.fill(ip6, 8)
  ip6[0], ip6[6], ip6[7] = 0x60, protocol == ICMP4 and ICMP6 or protocol, ttl
  ffi.cast(halves_t, ip6)[2] = swap16(size)
  mapped(ip6 + 8, source)
  mapped(ip6 + 24, destination)
  C.pg_ip6_l4_set(ip6, ip6 + HEADER6, size, ip6[6])
  barrier()
  p.note16[NETWORK], p.note16[TRANSPORT] = p.data_off, p.data_off + HEADER6
  return p
end

-- ProtocolTranslator64 -------------------------------------------------------------

local ProtocolTranslator64 = element.define{
  name = "ProtocolTranslator64", summary = "translates IPv6 packets to IPv4 ones",
  processing = "h/h", drops = {"can't be translated"},
}

-- The word of the address of IPv4 in one of IPv6: ::1.2.3.4 or ::ffff:1.2.3.4; 0 if
-- there is none.
local function word_in(at)
  local words, halves = ffi.cast(words_t, at), ffi.cast(halves_t, at)
  if words[0] ~= 0 or words[1] ~= 0 or halves[4] ~= 0
    or halves[5] ~= 0 and halves[5] ~= MAPPED then
    return 0
  end
  return words[3]
end

function ProtocolTranslator64.process(_, p)
  local ip6 = p.data
  if p.length < HEADER6 or rshift(ip6[0], 4) ~= 6 then return nil, 1 end
  local size, protocol, hops = swap16(ffi.cast(halves_t, ip6)[2]), ip6[6], ip6[7]
  local source, destination = word_in(ip6 + 8), word_in(ip6 + 24)
  if source == 0 or destination == 0 or HEADER6 + size > p.length
    or not is_whole(size, protocol)
    or protocol == ICMP6 and not translate_icmp(ip6 + HEADER6, size, TO_4) then
    return nil, 1
  end
  p.length = HEADER6 + size
  cut(p, HEADER6 - HEADER4)
  local ip = p.data
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  ffi.fill(ip, HEADER4)
  ip[0], ip[8], ip[9] = 0x45, hops, protocol == ICMP6 and ICMP4 or protocol
  halves[1], halves[3] = swap16(HEADER4 + size), DONT_FRAGMENT
  words[3], words[4] = source, destination
  halves[5] = C.pg_checksum_word(ip, HEADER4)
  C.pg_ip4_l4_set(ip, ip + HEADER4, size, ip[9])
  barrier()
  p.note16[NETWORK], p.note16[TRANSPORT] = p.data_off, p.data_off + HEADER4
  p.note32[note.DST_IP] = destination
  return p
end

return {ProtocolTranslator46, ProtocolTranslator64}
