-- SPDX-License-Identifier: Apache-2.0
-- SipHash (Aumasson and Bernstein, 2012): a hash of short inputs that who sends
-- them can't make collide without the key.
--
-- A hash function made here takes inputs of one size, and returns 32 bits: by
-- default those that Snabb's tables take (the hash's upper 31 bits, moved up by
-- one), with `standard` the lower 32 of the paper's 64. Unless `as_specified` (or
-- `standard`) is given, the size itself isn't hashed, which for one size needn't be.

local ffi = require("ffi")
local bit = require("bit")
local C = require("core.native")
local lib = require("core.lib")
local tables = require("core.lib.tables")

local siphash = {}

local OPTIONS = {
  size = {required = true}, -- bytes of an input
  stride = {}, -- bytes from an input to the next; default: size
  key = {default = false}, -- 16 bytes; default: random ones
  c = {default = 2}, d = {default = 4}, -- rounds a word, rounds at the end
  as_specified = {default = false}, standard = {default = false},
  width = {default = 1}, -- inputs a call, for make_multi_hash
}

--- A new key: 16 random bytes.
function siphash.random_sip_hash_key()
  return lib.random_bytes(16)
end

--- The key that the number `seed` (0 to 2^32 - 1) stands for.
function siphash.sip_hash_key_from_seed(seed)
  local key = ffi.new("uint8_t[16]")
  ffi.cast("uint32_t *", key)[0] = assert(tonumber(seed), "the seed isn't a number")
  return key
end

-- The paper's constants, and the key.
local function initial_state(state, key)
  key = ffi.cast("uint64_t *", key)
  state[0] = bit.bxor(0x736f6d6570736575ULL, key[0])
  state[1] = bit.bxor(0x646f72616e646f6dULL, key[1])
  state[2] = bit.bxor(0x6c7967656e657261ULL, key[0])
  state[3] = bit.bxor(0x7465646279746573ULL, key[1])
end

local function variant(options)
  local o = lib.parse(options, OPTIONS)
  local key = o.key or siphash.random_sip_hash_key() -- held while it is read
  local s = ffi.new("struct siphash")
  initial_state(s.state, key)
  s.size, s.stride = o.size, o.stride or o.size
  s.c, s.d = o.c, o.d
  s.as_specified = (o.as_specified or o.standard) and 1 or 0
  s.standard = o.standard and 1 or 0
  return s, o
end

--- The `struct siphash` for C functions that hash, of the options of make_hash.
function siphash.parameters(options)
  return (variant(options))
end

--- A function (pointer) that returns the hash of the input there, a number.
--- `options`: a table with `size`, and what OPTIONS above lists.
function siphash.make_hash(options)
  local s = variant(options)
  return function (input) return C.pg_siphash(s, input) end
end

--- A function (number) that hashes a uint64_t; as make_hash with size 8 would.
function siphash.make_u64_hash(options)
  local copy = tables.copy(options)
  copy.size = 8
  local s, o = variant(copy)
  assert(not (o.as_specified or o.standard),
    "make_u64_hash: neither as_specified nor standard can be had")
  return function (number) return C.pg_siphash_u64(s, number) end
end

--- A function (inputs, hashes) that hashes `width` inputs, each `stride` bytes
--- after the one before, into `hashes`, a uint32_t[width].
function siphash.make_multi_hash(options)
  local s, o = variant(options)
  assert(not o.standard, "make_multi_hash: standard can't be had")
  local width = o.width
  return function (inputs, hashes) C.pg_siphash_many(s, inputs, hashes, width) end
end

return siphash
