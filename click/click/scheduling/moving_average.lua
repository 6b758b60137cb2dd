-- SPDX-License-Identifier: Apache-2.0
-- A moving average in fixed point, as Click has it: 10 bits behind the point, and each
-- value counts 2^-stability. Numbers and their text are the same as there, and so is
-- what elements decide by them.

local bit = require("bit")

local moving_average = {}

local Average = {}
Average.__index = Average

local SCALE_BITS = 10 -- behind the point
local ONE = 2 ^ SCALE_BITS
local LONG = 100 -- as many zeros leave nothing

--- An average, which is 0. `stability`: 1 to 16; each value counts 2^-stability.
function moving_average.new(stability)
  return setmetatable({scaled = 0, share = 2 ^ stability,
    rounding = 2 ^ (stability - 1)}, Average)
end

--- Take one value, a whole number.
function Average:update(value)
  local more = value * ONE + self.rounding - self.scaled
  self.scaled = self.scaled + math.floor(more / self.share)
end

--- Take `n` zeros.
function Average:rest(n)
  if n >= LONG then
    self.scaled = 0
    return
  end
  for _ = 1, n do self:update(0) end
end

--- The average as a whole number.
function Average:rounded() return math.floor((self.scaled + ONE / 2) / ONE) end

-- Digits of a fraction, 1 to ONE - 1: as few as tell it from its neighbours (Knuth,
-- TeX: The Program, section 103).
local function digits_of(fraction)
  local digits, inexact, rest = {}, 10, 10 * fraction + 5
  local rounder = 5
  while rounder < ONE / 2 do rounder = rounder * 10 end
  repeat
    if inexact > ONE then rest = rest + ONE / 2 - rounder end
    digits[#digits + 1] = ("%d"):format(bit.rshift(rest, SCALE_BITS))
    rest, inexact = 10 * bit.band(rest, ONE - 1), inexact * 10
  until rest <= inexact
  return table.concat(digits)
end

--- A number with 10 bits behind the point, scaled by 2^10, as text.
function moving_average.text(scaled)
  local whole = math.floor(scaled / ONE)
  local fraction = scaled - whole * ONE
  if fraction == 0 then return ("%.0f"):format(whole) end
  return ("%.0f.%s"):format(whole, digits_of(fraction))
end

-- Rates -----------------------------------------------------------------------------

local Rate = {}
Rate.__index = Rate

local PERIODS = 1000 -- a second: how often what has been counted counts as one value
local STABILITY = 4

--- The rate of what comes, an average over thousandths of a second, in `average`.
function moving_average.rate()
  return setmetatable({average = moving_average.new(STABILITY), count = 0}, Rate)
end

--- So many came at that time, in seconds; from then on `average.scaled` is the rate for
--- a thousandth of a second, scaled by 2^10.
function Rate:add(n, now)
  local period = math.floor(now * PERIODS)
  local passed = period - (self.period or period)
  if passed > 0 then
    self.average:update(self.count)
    self.average:rest(passed - 1)
    self.count = 0
  end
  self.period, self.count = period, self.count + n
end

--- The limit for `average.scaled` that a rate of so many a second has.
function moving_average.limit(rate) return math.floor(rate * ONE / PERIODS) end

--- What `average.scaled` is a second, as text.
function moving_average.rate_text(scaled)
  return moving_average.text(scaled * PERIODS)
end

return moving_average
