-- SPDX-License-Identifier: Apache-2.0
-- Rates of what is counted, as moving averages. The router samples them every 10 ms or
-- so, thus packets cost nothing but their count.

local rates = {}

local Rate = {}
Rate.__index = Rate

local INTERVAL = 0.01 -- seconds between samples, at least
local MEMORY = 0.1    -- seconds after which what was weighs a third

--- The rate of what count() counts, in events a second: `value`.
function rates.new(count)
  return setmetatable({count = count, value = 0, last = 0}, Rate)
end

--- Forget it.
function Rate:reset()
  self.value, self.time, self.last = 0, nil, self.count()
end

--- Take a sample, if it is time.
function Rate:sample(now)
  local n = self.count()
  if not self.time then
    self.time, self.last = now, n
    return
  end
  local passed = now - self.time
  if passed < INTERVAL then return end
  local weight = math.exp(-passed / MEMORY)
  self.value = weight * self.value + (1 - weight) * (n - self.last) / passed
  self.time, self.last = now, n
end

return rates
