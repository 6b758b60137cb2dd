-- SPDX-License-Identifier: Apache-2.0
-- MurmurHash3 (Austin Appleby, public domain): fast hashes for tables. Who chooses the
-- inputs can make them collide; lib.hash.siphash is for such.

local ffi = require("ffi")
local bit = require("bit")
local class = require("lib.lua.class")
local base = require("lib.hash.base")
local sync = require("core.sync")

local band, bor, bxor = bit.band, bit.bor, bit.bxor
local rol, rshift, lshift, tobit = bit.rol, bit.rshift, bit.lshift, bit.tobit

local bytes_t = ffi.typeof("const uint8_t *")
local words_t = ffi.typeof("const uint32_t *")
local longs_t = ffi.typeof("const uint64_t *")

-- LuaJIT would read an input before the caller, in the same trace, has written it as
-- another type. A call of C is a barrier.
local anything = ffi.new("uint32_t[1]")
local function barrier() sync.load(anything) end

-- The 1 to 3 bytes at `data`, the first one lowest; none is read beyond them.
local function up_to_3(data, n)
  local middle, last = rshift(n, 1), n - 1
  return bor(data[0], lshift(data[middle], middle * 8), lshift(data[last], last * 8))
end

-- The 1 to 8 bytes at `data`, as a uint64_t.
local function up_to_8(data, n)
  if n < 4 then return up_to_3(data, n) + 0ULL end
  local upper = ffi.cast(words_t, data + (n - 4))[0] + 0ULL
  return bor(ffi.cast(words_t, data)[0] + 0ULL, lshift(upper, (n - 4) * 8))
end

local murmur = {}

-- 32 bits -------------------------------------------------------------------

local x86_32 = class.subClass(base)
x86_32._name = "MurmurHash3_x86_32"
x86_32._size = 32
murmur.MurmurHash3_x86_32 = x86_32

-- The product's lower 32 bits, signed, as all 32-bit values here. `b` is an int64_t: a
-- negative number has no uint64_t.
local function multiply(a, b) return tobit(a * b) end

local function mix_32(k)
  return multiply(rol(multiply(k, 0xcc9e2d51LL), 15), 0x1b873593LL)
end

local function finish_32(h)
  h = multiply(bxor(h, rshift(h, 16)), 0x85ebca6bLL)
  h = multiply(bxor(h, rshift(h, 13)), 0xc2b2ae35LL)
  return bxor(h, rshift(h, 16))
end

--- The hash of the `length` bytes at `data`, in h.u32[0]; returns h. Of `seed` (number
--- or uint64_t, default 0) the lower 32 bits count.
function x86_32:hash(data, length, seed)
  barrier()
  local from = ffi.cast(bytes_t, data)
  local h = tobit((seed or 0) + 0ULL)
  local rest = band(length, 3)
  for at = 0, length - 4, 4 do
    local k = tobit(ffi.cast(words_t, from + at)[0])
    h = tobit(rol(bxor(h, mix_32(k)), 13) * 5 + 0xe6546b64)
  end
  if rest > 0 then h = bxor(h, mix_32(up_to_3(from + (length - rest), rest))) end
  self.h.i32[0] = finish_32(bxor(h, length))
  return self.h
end

-- 128 bits ------------------------------------------------------------------

local x64_128 = class.subClass(base)
x64_128._name = "MurmurHash3_x64_128"
x64_128._size = 128
murmur.MurmurHash3_x64_128 = x64_128

local C1, C2 = 0x87c37b91114253d5ULL, 0x4cf5ad432745937fULL

local function mix_lower(k) return rol(k * C1, 31) * C2 end
local function mix_upper(k) return rol(k * C2, 33) * C1 end

local function finish_64(h)
  h = bxor(h, rshift(h, 33)) * 0xff51afd7ed558ccdULL
  h = bxor(h, rshift(h, 33)) * 0xc4ceb9fe1a85ec53ULL
  return bxor(h, rshift(h, 33))
end

--- The hash of the `length` bytes at `data`, in h.u64[0] and h.u64[1]; returns h.
--- `seed`: a number or uint64_t, default 0; the reference takes 32 bits.
function x64_128:hash(data, length, seed)
  barrier()
  local from = ffi.cast(bytes_t, data)
  local a = (seed or 0) + 0ULL
  local b = a
  local rest = band(length, 15)
  for at = 0, length - 16, 16 do
    local block = ffi.cast(longs_t, from + at)
    a = (rol(bxor(a, mix_lower(block[0])), 27) + b) * 5 + 0x52dce729
    b = (rol(bxor(b, mix_upper(block[1])), 31) + a) * 5 + 0x38495ab5
  end
  from = from + (length - rest)
  if rest > 8 then
    b = bxor(b, mix_upper(up_to_8(from + 8, rest - 8)))
    a = bxor(a, mix_lower(ffi.cast(longs_t, from)[0]))
  elseif rest > 0 then
    a = bxor(a, mix_lower(up_to_8(from, rest)))
  end
  a, b = bxor(a, length + 0ULL), bxor(b, length + 0ULL)
  a = a + b
  b = b + a
  a, b = finish_64(a), finish_64(b)
  a = a + b
  self.h.u64[0], self.h.u64[1] = a, b + a
  return self.h
end

return murmur
