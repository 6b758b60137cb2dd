-- SPDX-License-Identifier: Apache-2.0
-- Random numbers that are the same on every machine: a generator for each (seed,
-- number), so that any mutant of a long run can be made again by itself. Marsaglia's
-- xorshift128 ("Xorshift RNGs", Journal of Statistical Software 8, 2003).

local bit = require("bit")
local bxor, lshift, rshift, band = bit.bxor, bit.lshift, bit.rshift, bit.band

local Random = {}
Random.__index = Random

-- Spreads a 32-bit number's bits: three rounds of xorshift32 with odd constants.
local function scramble(n)
  for _ = 1, 3 do
    n = bxor(n, 0x5bd1e995)
    n = bxor(n, lshift(n, 13))
    n = bxor(n, rshift(n, 17))
    n = bxor(n, lshift(n, 5))
  end
  return n
end

function Random.new(seed, number)
  local a = scramble(bit.tobit(seed))
  local b = scramble(bit.tobit(number))
  local self = setmetatable({x = a, y = b, z = scramble(bxor(a, lshift(b, 7))),
    w = bxor(scramble(bxor(b, 0x1234567)), 1)}, Random)
  for _ = 1, 8 do self:word() end
  return self
end

--- A signed 32-bit number.
function Random:word()
  local t = bxor(self.x, lshift(self.x, 11))
  self.x, self.y, self.z = self.y, self.z, self.w
  self.w = bxor(self.w, rshift(self.w, 19), t, rshift(t, 8))
  return self.w
end

--- A whole number from `least` to `most` (at most 2^31 apart).
function Random:range(least, most)
  return least + band(self:word(), 0x7fffffff) % (most - least + 1)
end

--- One of an array.
function Random:choose(list)
  return list[self:range(1, #list)]
end

--- Is it one of `n`?
function Random:one_in(n)
  return self:range(1, n) == 1
end

--- Random bytes into bytes[0..length-1]. With `fast`, at most 64 of them, over and
--- over again.
function Random:bytes(bytes, length, fast)
  local own = fast and math.min(length, 64) or length
  for i = 0, own - 1 do bytes[i] = band(self:word(), 255) end
  for i = own, length - 1 do bytes[i] = bytes[i - 64] end
end

return Random
