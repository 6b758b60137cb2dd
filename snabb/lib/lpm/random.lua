-- SPDX-License-Identifier: Apache-2.0
-- Pseudo-random numbers that are the same wherever the seed is: Marsaglia's
-- xorshift of 32 bits (Journal of Statistical Software 8(14), 2003).

local bit = require("bit")
local bxor, lshift, rshift = bit.bxor, bit.lshift, bit.rshift

local Rand = {}

--- The number that follows `x`; both from 0 to 2^32 - 1. 0 is followed by 0.
function Rand.u32(x)
  x = bxor(x, lshift(x, 13))
  x = bxor(x, rshift(x, 17))
  return bxor(x, lshift(x, 5)) % 2^32
end

return Rand
