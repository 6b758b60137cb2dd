-- SPDX-License-Identifier: Apache-2.0
-- What makers of ICMP messages share: the numbers of echoes, headers and checksums.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local ip_header = require("click.net.ip_header")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local icmp_echo = {}

local halves_t = ffi.typeof("uint16_t *")
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
  ip_header.write(p, ICMP, source, destination, id, ttl)
  local bytes = p.data + MINIMAL
  local message = ffi.cast(halves_t, bytes)
  message[1] = 0
  message[1] = C.pg_checksum_word(bytes, p.length - MINIMAL)
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
