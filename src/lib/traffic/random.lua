-- SPDX-License-Identifier: Apache-2.0
-- Random numbers for the packet path: SplitMix64 (Steele, Lea and Flood, "Fast
-- splittable pseudorandom number generators", OOPSLA 2014, figure 16). The same seed
-- gives the same traffic.

local ffi = require("ffi")

local bxor, rshift = bit.bxor, bit.rshift

local M = {}

ffi.cdef "struct perigee_random { uint64_t state; };"

local STEP = 0x9E3779B97F4A7C15ULL

--- Mix the 64 bits of `x` (uint64_t): each bit of the result depends on all of them.
function M.mix(x)
  x = bxor(x, rshift(x, 30)) * 0xBF58476D1CE4E5B9ULL
  x = bxor(x, rshift(x, 27)) * 0x94D049BB133111EBULL
  return bxor(x, rshift(x, 31))
end
local mix = M.mix

--- Begin anew with `seed`, a number.
function M.seed(r, seed)
  r.state = mix((seed + 1) * STEP)
end

--- A number from 0 (inclusive) to 1 (exclusive), a multiple of 2^-53.
function M.uniform(r)
  local state = r.state + STEP
  r.state = state
  return tonumber(rshift(mix(state), 11)) * 2^-53
end
local uniform = M.uniform

--- A number with an exponential distribution of mean 1.
function M.exponential(r)
  return -math.log(1 - uniform(r))
end

--- The number from 0 (inclusive) to 1 (exclusive) that belongs to `index`, a whole
--- number, in the sequence `seed` (uint64_t): it needs no state.
function M.at(index, seed)
  return tonumber(rshift(mix(seed + (index + 1) * STEP), 11)) * 2^-53
end

return M
