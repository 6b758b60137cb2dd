-- SPDX-License-Identifier: Apache-2.0
-- Accessors of protocol headers. Each makes one method of a class: with an argument
-- that isn't nil it sets the field; it returns the field's value, in host order.
-- Integers of more than a byte are in network order in the header.

local ffi = require("ffi")
local own_code = require("lib.protocol.own_code")

ffi.cdef("int memcmp(const void *a, const void *b, size_t length);")

local fields = {}

-- The method of a field: code of its own, in which names and numbers are constants, not
-- variables that compiled code has to compare at each call.
local method = own_code.make

local PLAIN = [[
  return function (self, value)
    local h = self._header.box[0]
    if value ~= nil then
      if type(value) ~= "number" then value = check.number("$name", value) end
      h.$member = value
    end
    return h.$member
  end]]

-- Byte order is changed in line: functions of core.lib are shared
-- (lib.protocol.own_code).
local HALF = [[
  local bswap, rshift = bit.bswap, bit.rshift
  return function (self, value)
    local h = self._header.box[0]
    if value ~= nil then
      if type(value) ~= "number" then value = check.number("$name", value) end
      h.$member = rshift(bswap(value), 16)
    end
    return (rshift(bswap(h.$member), 16))
  end]]

local WORD = [[
  local bswap, cast, word = bit.bswap, ffi.cast, ffi.typeof("uint32_t")
  return function (self, value)
    local h = self._header.box[0]
    if value ~= nil then
      if type(value) ~= "number" then value = check.number("$name", value) end
      h.$member = cast(word, bswap(value))
    end
    return (tonumber(cast(word, bswap(h.$member))))
  end]]

local SOME_BITS = [[
  local bswap, band, bor = bit.bswap, bit.band, bit.bor
  local lshift, rshift = bit.lshift, bit.rshift
  local cast, word = ffi.cast, ffi.typeof("uint32_t")
  return function (self, value)
    local h = self._header.box[0]
    if value ~= nil then
      if type(value) ~= "number" then value = check.number("$name", value) end
      local rest = band(rshift(bswap(h.$member), $spare), $others)
      local whole = bor(rest, lshift(band(value, $ones), $shift))
      h.$member = cast(word, rshift(bswap(whole), $spare))
    end
    return (band(rshift(bswap(h.$member), $right), $ones))
  end]]

-- A method for $size bytes: `store` puts them from `value` to h.$member, with `locals`.
local function of_bytes(locals, store)
  return locals .. [[
  return function (self, value)
    local h = self._header.box[0]
    if value ~= nil then
      if type(value) ~= "cdata" or tonumber(value) then
        check.bytes("$name", value, $size)
      end
]] .. store .. [[
    end
    return h.$member
  end]]
end

local BYTES = of_bytes("local copy = ffi.copy\n", "copy(h.$member, value, $size)\n")

local SIX = of_bytes([[
  local cast, halves = ffi.cast, ffi.typeof("uint16_t *")
]], [[
      local from, to = cast(halves, value), cast(halves, h.$member)
      local a, b, c = from[0], from[1], from[2]
      to[0], to[1], to[2] = a, b, c
]])

local FOUR = of_bytes([[
  local cast, words = ffi.cast, ffi.typeof("int32_t *")
]], "cast(words, h.$member)[0] = cast(words, value)[0]\n")

local EQUAL = [[
  local C = ffi.C
  return function (self, other)
    if type(other) ~= "cdata" or tonumber(other) then
      check.bytes("$name", other, $size)
    end
    return C.memcmp(other, self._header.box[0].$member, $size) == 0
  end]]

--- A byte: class:name([value]).
function fields.u8(class, name, member)
  class[name] = method(PLAIN, {name = name, member = member})
end

--- An integer of 16 bits.
function fields.u16(class, name, member)
  class[name] = method(HALF, {name = name, member = member})
end

--- An integer of 32 bits.
function fields.u32(class, name, member)
  class[name] = method(WORD, {name = name, member = member})
end

-- The `count` bits from `first` (0 is the most significant) of an integer of `size`
-- bits.
local function bits(size)
  return function (class, name, member, first, count)
    local shift, ones = size - first - count, bit.lshift(1, count) - 1
    class[name] = method(SOME_BITS, {name = name, member = member, shift = shift,
      ones = ones, others = bit.bnot(bit.lshift(ones, shift)), spare = 32 - size,
      right = shift + 32 - size})
  end
end

--- Some bits of an integer of 16 or 32 bits: (class, name, member, first, count), where
--- 0 is the most significant bit.
fields.bits16 = bits(16)
fields.bits32 = bits(32)

local OF_SIZE = {[4] = FOUR, [6] = SIX}

--- `size` bytes: class:name([pointer or string]), which returns a reference to those in
--- the header; and class:name_eq(pointer or string), whether they are the same.
function fields.bytes(class, name, member, size)
  class[name] = method(OF_SIZE[size] or BYTES,
    {name = name, member = member, size = size})
  class[name .. "_eq"] = method(EQUAL,
    {name = name .. "_eq", member = member, size = size})
end

return fields
