-- SPDX-License-Identifier: Apache-2.0
-- Random numbers that a seed makes the same as in other programs which use the C
-- library's. Lua's own (math.random) do elsewhere.

local bit = require("bit")
local C = require("core.declare")("native/chance.h")

local chance = {}

local seeded = false

--- From now on, numbers follow from the seed: those from here, and Lua's.
function chance.seed(seed)
  seeded = true
  math.randomseed(seed)
  C.pg_chance_seed(seed % 2 ^ 32)
end

local function seed_once()
  if seeded then return end
  seeded = true
  C.pg_chance_seed(math.random(0, 2 ^ 32 - 1))
end

--- A number from 0 to `most`, which is at most 2^31 - 2.
function chance.number(most)
  seed_once()
  return C.pg_chance(most)
end

--- One of `n` numbers from 0 on (1 to 2^31 - 1), chosen as Click's elements do it.
function chance.among(n)
  seed_once()
  return C.pg_chance_among(n)
end

--- The C library's next number, from 0 to 2^31 - 1.
function chance.word()
  seed_once()
  return C.pg_chance_word()
end

local BITS_28 = 2 ^ 28 - 1

--- Does it happen, with a probability from 0 to 1? Decided as Click's elements that
--- sample do it: by 28 bits.
function chance.happens(probability)
  return bit.band(chance.word(), BITS_28) < math.floor(probability * 2 ^ 28 + 0.5)
end

return chance
