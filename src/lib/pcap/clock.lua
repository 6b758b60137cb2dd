-- SPDX-License-Identifier: Apache-2.0
-- Turns the timestamps of a pcapng interface, 64 bits in a unit of its own, into
-- nanoseconds since 1970. All arithmetic is on 64-bit integers: nothing is rounded
-- that nanoseconds can hold.

local bit = require("bit")

local band, rshift, lshift = bit.band, bit.rshift, bit.lshift

local NS_PER_S = 1000000000ULL
-- 34 bits of a fraction times 1e9 (30 bits) still fit in 64.
local FRACTION_BITS = 34

local M = {}

local function power_of_ten(n)
  local result = 1ULL
  for _ = 1, n do
    result = result * 10
  end
  return result
end

local function binary(n)
  local mask = lshift(1ULL, n) - 1
  local bits = math.min(n, FRACTION_BITS)
  return function(units)
    local fraction = rshift(band(units, mask), n - bits)
    return rshift(units, n) * NS_PER_S + rshift(fraction * NS_PER_S, bits)
  end
end

local function decimal(n)
  if n <= 9 then
    local factor = power_of_ten(9 - n)
    return function(units) return units * factor end
  end
  local divisor = power_of_ten(n - 9)
  return function(units) return units / divisor end
end

local made = {} -- functions by resolution

--- A function from units (uint64) to nanoseconds (uint64) for the byte `resolution`
--- of an if_tsresol option: units of 10^-n s, or 2^-n s with the upper bit set.
--- Returns nil when the unit is too small for 64-bit arithmetic (n over 28 or 63).
function M.to_ns(resolution)
  if made[resolution] then return made[resolution] end
  local n = resolution % 128
  if resolution < 128 then
    made[resolution] = n <= 28 and decimal(n) or nil
  else
    made[resolution] = n <= 63 and binary(n) or nil
  end
  return made[resolution]
end

return M
