-- SPDX-License-Identifier: Apache-2.0
-- Accessors of protocol headers. Each makes one method of a class: with an argument
-- that isn't nil it sets the field; it returns the field's value, in host order.
-- Integers of more than a byte are in network order in the header.

local ffi = require("ffi")
local lib = require("core.lib")

local htons, ntohs, htonl, ntohl = lib.htons, lib.ntohs, lib.htonl, lib.ntohl
local band, bor, bnot = bit.band, bit.bor, bit.bnot
local lshift, rshift = bit.lshift, bit.rshift
local C, copy = ffi.C, ffi.copy

ffi.cdef("int memcmp(const void *a, const void *b, size_t length);")

local fields = {}

--- A byte: class:name([value]).
function fields.u8(class, name, member)
  class[name] = function (self, value)
    local h = self:header()
    if value ~= nil then h[member] = value end
    return h[member]
  end
end

--- An integer of 16 bits.
function fields.u16(class, name, member)
  class[name] = function (self, value)
    local h = self:header()
    if value ~= nil then h[member] = htons(value) end
    return (ntohs(h[member]))
  end
end

--- An integer of 32 bits.
function fields.u32(class, name, member)
  class[name] = function (self, value)
    local h = self:header()
    if value ~= nil then h[member] = htonl(value) end
    return (ntohl(h[member]))
  end
end

-- A flag may be given as a boolean.
local function number(value)
  if value == true then return 1 end
  if value == false then return 0 end
  return value
end

-- The `count` bits from `first` (0 is the most significant) of an integer of `size`
-- bits.
local function bits(size, hton, ntoh)
  return function (class, name, member, first, count)
    local shift = size - first - count
    local ones = lshift(1, count) - 1
    local others = bnot(lshift(ones, shift))
    class[name] = function (self, value)
      local h = self:header()
      if value ~= nil then
        local rest = band(ntoh(h[member]), others)
        h[member] = hton(bor(rest, lshift(band(number(value), ones), shift)))
      end
      return (band(rshift(ntoh(h[member]), shift), ones))
    end
  end
end

--- Some bits of an integer of 16 or 32 bits: (class, name, member, first, count), where
--- 0 is the most significant bit.
fields.bits16 = bits(16, htons, ntohs)
fields.bits32 = bits(32, htonl, ntohl)

--- `size` bytes: class:name([pointer or string]), which returns a reference to those in
--- the header; and class:name_eq(pointer or string), whether they are the same.
function fields.bytes(class, name, member, size)
  class[name] = function (self, value)
    local h = self:header()
    if value ~= nil then copy(h[member], value, size) end
    return h[member]
  end
  class[name .. "_eq"] = function (self, other)
    return C.memcmp(other, self:header()[member], size) == 0
  end
end

return fields
