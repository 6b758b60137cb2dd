-- SPDX-License-Identifier: Apache-2.0
-- What Snabb's hash functions derive from: a class of them sets _name and _size (the
-- bits of a hash), and has a method hash(data, length), which writes the hash to the
-- object's `h` and returns it.

local ffi = require("ffi")
local class = require("lib.lua.class")

local base = class.subClass(nil)
base._name = "hash function"

-- {[BITS] = C type}: all objects of a size share one, or traces would see several.
local result_types = {}

local function make_type(bits)
  local bytes, words = bits / 8, bits / 32
  local members = "uint8_t u8[$]; int8_t i8[$]; uint32_t u32[$]; int32_t i32[$];"
  if bits % 64 ~= 0 then
    return ffi.typeof(("union { %s }"):format(members), bytes, bytes, words, words)
  end
  members = members .. " uint64_t u64[$]; int64_t i64[$];"
  return ffi.typeof(("union { %s }"):format(members), bytes, bytes, words, words,
    words / 2, words / 2)
end

--- A hash function of a derived class. Its `h` is the last hash as arrays u8, i8, u32,
--- i32 and, of hashes of a multiple of 64 bits, u64 and i64.
function base:new()
  if self == base then error("lib.hash.base has no objects: derive a class", 2) end
  local bits = self._size
  if not bits or bits < 32 or bits % 32 ~= 0 then
    error(("the _size of a hash function is %s: it has to be a multiple of 32 bits")
      :format(tostring(bits)), 2)
  end
  result_types[bits] = result_types[bits] or make_type(bits)
  local object = base:superClass().new(self)
  object.h = result_types[bits]()
  return object
end

--- How many bits a hash has.
function base:size()
  return self._size
end

return base
