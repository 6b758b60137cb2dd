-- SPDX-License-Identifier: Apache-2.0
-- Mean and variance of values that are seen one by one (Welford, Technometrics 4,
-- 1962).

local moments = {}
moments.__index = moments

--- Of no values yet. `count` and `mean` may be read.
function moments.new()
  return setmetatable({count = 0, mean = 0, squares = 0}, moments)
end

--- See a value.
function moments:add(value)
  local before = value - self.mean
  self.count = self.count + 1
  self.mean = self.mean + before / self.count
  self.squares = self.squares + before * (value - self.mean)
end

--- The variance; 0 of fewer than two values.
function moments:variance()
  return self.count > 1 and self.squares / (self.count - 1) or 0
end

return moments
