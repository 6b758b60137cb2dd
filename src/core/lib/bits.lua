-- SPDX-License-Identifier: Apache-2.0
-- Bits and byte order. htons & co are inlined into traces of the packet path: they
-- stay one expression each, and nothing slow in this tree may call them (a caller
-- that LuaJIT blacklists would take them along).

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local bit = require("bit")
local band, bor, bnot = bit.band, bit.bor, bit.bnot
local lshift, rshift, bswap = bit.lshift, bit.rshift, bit.bswap
local tonumber, type, cast = tonumber, type, ffi.cast

local uint32_t = ffi.typeof("uint32_t")

local bits = {}

-- Compiled code knows the type: the test in front of this costs it nothing. The text of
-- a number is one to the functions of `bit`.
local function check_number(name, i, value)
  if type(value) ~= "cdata" and type(value) ~= "string" or not tonumber(value) then
    arguments.refuse("lib." .. name, i, value, "a number", 4)
  end
end

--- Or together 1<<n for each value n of the table `set` (its keys are only names)
--- and `base`, if given.
function bits.bits(set, base)
  if type(set) ~= "table" then arguments.refuse("lib.bits", 1, set, "a table") end
  local mask = base or 0
  for _, n in pairs(set) do mask = bor(mask, lshift(1, n)) end
  return mask
end

--- Is bit `n` of `value` set?
function bits.bitset(value, n)
  if type(value) ~= "number" then check_number("bitset", 1, value) end
  if type(n) ~= "number" then check_number("bitset", 2, n) end
  return band(value, lshift(1, n)) ~= 0
end

if ffi.abi("be") then
  function bits.htonl(n) return n end
  function bits.htons(n) return n end
else
  -- The outer parentheses keep these from being tail calls, which traces don't like.

  --- Swap a 32-bit integer between host and network order; unsigned.
  function bits.htonl(n)
    if type(n) ~= "number" then check_number("htonl", 1, n) end
    return (tonumber(cast(uint32_t, bswap(n))))
  end

  --- Swap a 16-bit integer between host and network order; unsigned.
  function bits.htons(n)
    if type(n) ~= "number" then check_number("htons", 1, n) end
    return (rshift(bswap(n), 16))
  end
end
bits.ntohl, bits.ntohs = bits.htonl, bits.htons

local function swap32(n) return ffi.abi("be") and n or bswap(n) end
local function swap16(n) return ffi.abi("be") and n or rshift(bswap(n), 16) end
local function keep(n) return n end
local swap_of_size = {[8] = keep, [16] = swap16, [32] = swap32}

--- Read, or with `value` set, the `nbits` bits at `offset` (0 is the most significant)
--- of struct[member], an integer of `size` (8, 16, 32) bits in network order.
function bits.bitfield(size, struct, member, offset, nbits, value)
  local swap = swap_of_size[size]
    or error("a bit field's integer has 8, 16 or 32 bits, not " .. tostring(size), 2)
  local field = swap(struct[member])
  local shift = size - offset - nbits
  local mask = lshift(nbits == 32 and -1 or lshift(1, nbits) - 1, shift)
  if value then
    local others = band(field, bnot(mask))
    struct[member] = swap(bor(others, band(lshift(value, shift), mask)))
  else
    return rshift(band(field, mask), shift)
  end
end

return bits
