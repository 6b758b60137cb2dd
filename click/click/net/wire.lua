-- SPDX-License-Identifier: Apache-2.0
-- Numbers as they are in packets, and addresses as Click writes them. A word is four
-- bytes as an int32_t in memory's order would read them: two addresses are equal if
-- their words are. A half is two bytes as a uint16_t.

local addresses = require("net.address.address")
local bit = require("bit")
local ffi = require("ffi")
local read16 = require("net.wire.bytes").read16

local wire = {}

local band, bswap, rshift, tobit = bit.band, bit.bswap, bit.rshift, bit.tobit
local copy = ffi.copy
local little_endian = ffi.abi("le")
local word_t, half_t = ffi.typeof("const int32_t *"), ffi.typeof("const uint16_t *")
local bytes_t = ffi.typeof("const uint8_t *")

--- A number of 16 bits between host and network order, either way.
function wire.swap16(x)
  if not little_endian then return band(x, 0xffff) end
  return rshift(bswap(x), 16)
end

--- The word of a number of 32 bits in host order (0xc0000201 for 192.0.2.1).
function wire.word_of(number)
  return little_endian and bswap(number) or tobit(number)
end

--- The number, from 0 to 2^32 - 1, of a word.
function wire.number_of(word)
  return wire.word_of(word) % 2 ^ 32
end

--- The word of the string `s` behind `at` bytes.
function wire.word(s, at)
  return tobit(ffi.cast(word_t, ffi.cast(bytes_t, s) + (at or 0))[0])
end

--- The half of the string `s` behind `at` bytes.
function wire.half(s, at)
  return ffi.cast(half_t, ffi.cast(bytes_t, s) + (at or 0))[0]
end

local pad = ffi.new("uint8_t[16]")

--- Let what was written to a packet be seen by all that is compiled with it. LuaJIT
--- takes accesses by pointers that it can't compare, and of different widths, as ones
--- to different memory: a half that was read before a byte of it was written, by
--- another pointer, isn't read again. ffi.copy ends what it knows of memory.
function wire.barrier() copy(pad, pad + 8, 8) end

-- Text -----------------------------------------------------------------------------

--- "192.0.2.1" for a number in host order.
wire.ip_text = addresses.ip4_text

--- The same for a word.
function wire.word_text(word) return wire.ip_text(wire.number_of(word)) end

--- How many bits the mask, a number in host order, begins with; nil if it has holes.
function wire.prefix_length(mask)
  for length = 0, 32 do
    if mask == 2 ^ 32 - 2 ^ (32 - length) then return length end
  end
end

--- "192.0.2.0/24", or "192.0.2.0/255.0.255.0".
function wire.prefix_text(address, mask)
  return ("%s/%s"):format(wire.ip_text(address),
    wire.prefix_length(mask) or wire.ip_text(mask))
end

--- "02-00-00-00-0A-01" for 6 bytes, a string or a pointer.
function wire.eth_text(bytes)
  local b = ffi.cast(bytes_t, bytes)
  return ("%02X-%02X-%02X-%02X-%02X-%02X"):format(b[0], b[1], b[2], b[3], b[4], b[5])
end

-- The groups of an IPv6 address, and the first longest run of zeros: where, how many.
local function groups_of(b)
  local groups, at, longest, run = {}, 0, 0, 0
  for i = 1, 8 do
    groups[i] = read16(b + 2 * i - 2)
    run = groups[i] == 0 and run + 1 or 0
    if run > longest then at, longest = i - run + 1, run end
  end
  return groups, at, longest
end

local function hexadecimal(groups, first, last)
  local list = {}
  for i = first, last do list[#list + 1] = ("%x"):format(groups[i]) end
  return table.concat(list, ":")
end

--- "2001:db8::1" for 16 bytes, a string or a pointer (RFC 5952); addresses that hold
--- one of IPv4 end like that.
function wire.ip6_text(bytes)
  local b = ffi.cast(bytes_t, bytes)
  local groups, at, longest = groups_of(b)
  if longest == 8 then return "::" end
  local front = hexadecimal(groups, 1, 6)
  if front == "0:0:0:0:0:0" or front == "0:0:0:0:0:ffff" then
    return ("::%s%d.%d.%d.%d"):format(groups[6] ~= 0 and "ffff:" or "", b[12], b[13],
      b[14], b[15])
  end
  if longest < 2 then return hexadecimal(groups, 1, 8) end
  return hexadecimal(groups, 1, at - 1) .. "::" .. hexadecimal(groups, at + longest, 8)
end

return wire
