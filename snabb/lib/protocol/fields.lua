-- SPDX-License-Identifier: Apache-2.0
-- Accessors of protocol headers. Each makes one method of a class: with an argument
-- that isn't nil it sets the field; it returns the field's value, in host order.
-- Integers of more than a byte are in network order in the header.

local ffi = require("ffi")

local C = ffi.C

ffi.cdef("int memcmp(const void *a, const void *b, size_t length);")

local fields = {}

-- The method of a field: code of its own, in which names and numbers are constants, not
-- variables that compiled code has to compare at each call.
local function method(code, values)
  local text = code:gsub("%$(%w+)", values)
  local chunk = assert(loadstring("local lib, bit = ... " .. text, "=a header's field"))
  return chunk(require("core.lib"), require("bit"))
end

local PLAIN = [[
  return function (self, value)
    local h = self:header()
    if value ~= nil then h.$member = value end
    return h.$member
  end]]

local IN_ORDER = [[
  local hton, ntoh = lib.$hton, lib.$ntoh
  return function (self, value)
    local h = self:header()
    if value ~= nil then h.$member = hton(value) end
    return (ntoh(h.$member))
  end]]

local SOME_BITS = [[
  local hton, ntoh = lib.$hton, lib.$ntoh
  local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
  return function (self, value)
    local h = self:header()
    if value ~= nil then
      if value == true then value = 1 elseif value == false then value = 0 end
      local rest = band(ntoh(h.$member), $others)
      h.$member = hton(bor(rest, lshift(band(value, $ones), $shift)))
    end
    return (band(rshift(ntoh(h.$member), $shift), $ones))
  end]]

local BYTES = [[
  local copy = require("ffi").copy
  return function (self, value)
    local h = self:header()
    if value ~= nil then copy(h.$member, value, $size) end
    return h.$member
  end]]

--- A byte: class:name([value]).
function fields.u8(class, name, member)
  class[name] = method(PLAIN, {member = member})
end

--- An integer of 16 bits.
function fields.u16(class, name, member)
  class[name] = method(IN_ORDER, {member = member, hton = "htons", ntoh = "ntohs"})
end

--- An integer of 32 bits.
function fields.u32(class, name, member)
  class[name] = method(IN_ORDER, {member = member, hton = "htonl", ntoh = "ntohl"})
end

-- The `count` bits from `first` (0 is the most significant) of an integer of `size`
-- bits.
local function bits(size, hton, ntoh)
  return function (class, name, member, first, count)
    local shift, ones = size - first - count, bit.lshift(1, count) - 1
    class[name] = method(SOME_BITS, {member = member, hton = hton, ntoh = ntoh,
      shift = shift, ones = ones, others = bit.bnot(bit.lshift(ones, shift))})
  end
end

--- Some bits of an integer of 16 or 32 bits: (class, name, member, first, count), where
--- 0 is the most significant bit.
fields.bits16 = bits(16, "htons", "ntohs")
fields.bits32 = bits(32, "htonl", "ntohl")

--- `size` bytes: class:name([pointer or string]), which returns a reference to those in
--- the header; and class:name_eq(pointer or string), whether they are the same.
function fields.bytes(class, name, member, size)
  class[name] = method(BYTES, {member = member, size = size})
  class[name .. "_eq"] = function (self, other)
    return C.memcmp(other, self:header()[member], size) == 0
  end
end

return fields
