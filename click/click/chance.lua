-- SPDX-License-Identifier: Apache-2.0
-- Random numbers that a seed makes the same as in other programs which use the C
-- library's. Lua's own (math.random) do elsewhere.

local C = require("core.declare")("native/chance.h")

local chance = {}

local seeded = false

--- From now on, numbers follow from the seed: those from here, and Lua's.
function chance.seed(seed)
  seeded = true
  math.randomseed(seed)
  C.pg_chance_seed(seed % 2 ^ 32)
end

--- A number from 0 to `most`, which is at most 2^31 - 2.
function chance.number(most)
  if not seeded then
    seeded = true
    C.pg_chance_seed(math.random(0, 2 ^ 32 - 1))
  end
  return C.pg_chance(most)
end

return chance
