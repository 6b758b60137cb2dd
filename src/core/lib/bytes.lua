-- SPDX-License-Identifier: Apache-2.0
-- Raw memory: the Internet checksum, numbers, bounds-checked arrays, DMA memory. The
-- checksum runs on the packet path; bulk work should use net.checksum.checksum, in C.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local bit = require("bit")
local ctype = require("core.lib.ctype")

local band, bnot, lshift, tobit = bit.band, bit.bnot, bit.lshift, bit.tobit
local tonumber, type = tonumber, type

local uint8_ptr, uint64_ptr = ffi.typeof("uint8_t *"), ffi.typeof("const uint64_t *")

local bytes = {}

local function check_sum(name, ptr, len)
  if (type(ptr) ~= "cdata" or tonumber(ptr)) and type(ptr) ~= "string" then
    arguments.refuse("lib." .. name, 1, ptr, "a pointer, an array or a string", 4)
  elseif not (tonumber(len) and tonumber(len) >= 0) then
    arguments.refuse("lib." .. name, 2, len, "a number of bytes from 0 on", 4)
  end
  return tonumber(len)
end

-- Bytes whose 16-bit words can be added up without leaving int32.
local MAX_RUN = 65534

local function sum_words(ptr, len)
  local sum = 0
  for i = 0, len - 2, 2 do
    sum = tobit(sum + lshift(ptr[i], 8) + ptr[i + 1])
  end
  if len % 2 == 1 then sum = tobit(sum + lshift(ptr[len - 1], 8)) end
  return sum
end

--- Add the `len` bytes at `ptr`, as 16-bit big-endian words (an odd last byte counts
--- as the high half of one), to `sum`, if given. For finish_csum.
function bytes.update_csum(ptr, len, sum)
  len = check_sum("update_csum", ptr, len)
  ptr = ffi.cast(uint8_ptr, ptr)
  if sum ~= nil and not tonumber(sum) then
    arguments.refuse("lib.update_csum", 3, sum, "a sum, or nil")
  end
  sum = tonumber(sum) or 0
  while len > MAX_RUN do
    sum = sum + sum_words(ptr, MAX_RUN)
    ptr, len = ptr + MAX_RUN, len - MAX_RUN
  end
  return sum + sum_words(ptr, len)
end

--- The Internet checksum (RFC 1071), in host order, of a sum made by update_csum.
function bytes.finish_csum(sum)
  sum = tonumber(sum) or arguments.refuse("lib.finish_csum", 1, sum, "a sum")
  while sum > 0xffff do
    local low = sum % 0x10000
    sum = low + (sum - low) / 0x10000
  end
  return (band(bnot(sum), 0xffff))
end

--- The Internet checksum (RFC 1071), in host order, of the `len` bytes at `ptr`.
function bytes.csum(ptr, len)
  check_sum("csum", ptr, len)
  return (bytes.finish_csum(bytes.update_csum(ptr, len)))
end

local number = ffi.new("union { uint64_t bits; double value; }")
local INFINITE = 0x7ff0000000000000ULL -- the exponent of no finite number
local MAGNITUDE = 0x7fffffffffffffffULL

--- The double at `pointer`, where others may write. LuaJIT takes some of what is no
--- number for values of other types: here it is NaN.
function bytes.double(pointer)
  number.bits = ffi.cast(uint64_ptr, pointer)[0]
  if band(number.bits, MAGNITUDE) > INFINITE then return 0 / 0 end
  return number.value
end

--- The double in the string behind `offset` bytes, little-endian; nil if it isn't a
--- finite number.
function bytes.finite_double(text, offset)
  local value = bytes.double(ffi.cast("const char *", text) + offset)
  return value - value == 0 and value or nil
end

local function check_bounds(array, index)
  if type(index) ~= "number" then
    error(("an array's index is a number, not %s"):format(arguments.shown(index)), 3)
  elseif index ~= index or index < 0 or index >= array._size then
    error(("index %s is outside the array's 0..%d")
      :format(tostring(index), array._size - 1), 3)
  end
end

local checked = {
  __index = function(array, index)
    check_bounds(array, index)
    return array._first[index]
  end,
  __newindex = function(array, index, value)
    check_bounds(array, index)
    array._first[index] = value
  end,
}

--- A table to index like the C array of `size` elements of the C type `element` that
--- starts `offset` bytes after `base`. An index outside it is an error.
function bytes.bounds_checked(element, base, offset, size)
  local first = ffi.cast(uint8_ptr, base) + offset
  return setmetatable({
    _first = ffi.cast(ctype.pointer_to(element), first), _base = base, _size = size,
  }, checked)
end

--- Pointer to new DMA memory for one object of the C type `element`; never freed.
function bytes.malloc(element)
  local ptr = require("core.memory").dma_alloc(ffi.sizeof(element))
  return ffi.cast(ctype.pointer_to(element), ptr)
end

return arguments.guard(bytes, "lib", {
  malloc = "ctype", bounds_checked = "ctype, pointer, number, count",
})
