-- SPDX-License-Identifier: Apache-2.0
-- What makers of ICMP messages share: the numbers of echoes, and the IPv4 header.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local note = require("click.note")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local icmp_echo = {}

local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local swap16 = wire.swap16
local MINIMAL = 20 -- bytes
local ICMP = 1

--- The TTL of headers that elements put before packets.
icmp_echo.ENCAP_TTL = 255

--- Give the message at that pointer its identifier and its number, in host order.
function icmp_echo.number(message, identifier, sequence)
  local halves = ffi.cast(halves_t, message)
  halves[2], halves[3] = swap16(identifier), swap16(sequence)
end

--- The packet is room for an IPv4 header, and an ICMP message: write the header, of
--- these addresses (words), and both checksums.
function icmp_echo.finish(p, source, destination, id, ttl)
  local ip, n, at = p.data, p.note16, p.data_off
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  ip[0], ip[1], ip[8], ip[9] = 0x45, 0, ttl, ICMP
  halves[1], halves[2], halves[3], halves[5] = swap16(p.length), swap16(id), 0, 0
  words[3], words[4] = source, destination
  halves[5] = C.pg_checksum_word(ip, MINIMAL)
  local message = ffi.cast(halves_t, ip + MINIMAL)
  message[1] = 0
  message[1] = C.pg_checksum_word(ip + MINIMAL, p.length - MINIMAL)
  p.note32[note.DST_IP] = destination
  n[note.NETWORK_HEADER], n[note.TRANSPORT_HEADER] = at, at + MINIMAL
end

--- The handler of an address that an element keeps as a word in that field.
function icmp_echo.address_handler(field)
  return {
    read = function (e) return wire.word_text(e[field]) end,
    write = function (e, text)
      local value = types.ip(text, {}, e)
      if not value then return "syntax error" end
      e[field] = wire.word_of(value)
    end,
  }
end

return icmp_echo
