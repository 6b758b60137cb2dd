-- SPDX-License-Identifier: Apache-2.0
-- Token buckets: tokens come in at a rate and are kept up to a capacity. They don't
-- know the time: who asks says it, in seconds on a clock that doesn't go back. Rates
-- and tokens are real numbers, so that no rate is too low, or doesn't divide a clock's.

local token_bucket = {}

local Bucket = {}
Bucket.__index = Bucket

--- Of a bucket in which `n` tokens were: how many there are `passed` seconds later.
function token_bucket.filled(n, rate, capacity, passed)
  return math.min(n + passed * rate, capacity)
end
local filled = token_bucket.filled

--- A bucket for `rate` tokens a second; it is full when it is first refilled.
function token_bucket.new(rate, capacity)
  return setmetatable({rate = rate, capacity = capacity, n = 0, last = -math.huge},
    Bucket)
end

--- Another rate and capacity; the tokens that are there stay, as far as they fit.
function Bucket:set_rate(rate, capacity)
  self.rate, self.capacity = rate, capacity
  self.n = math.min(self.n, capacity)
end

--- Add the tokens that have come until `now`.
function Bucket:refill(now)
  local passed = now - self.last
  self.last = now
  if self.rate > 0 then self.n = filled(self.n, self.rate, self.capacity, passed) end
end

--- Are there `n`?
function Bucket:contains(n) return self.n >= n end

--- Take `n` away, as far as they are there.
function Bucket:remove(n) self.n = math.max(0, self.n - n) end

--- Take all away.
function Bucket:clear() self.n = 0 end

--- Seconds until there are `n`, to the next microsecond; huge if there never will be.
function Bucket:time_until(n)
  if self.n >= n then return 0 end
  if self.rate <= 0 or n > self.capacity then return math.huge end
  return math.ceil((n - self.n) / self.rate * 1e6) * 1e-6
end

return token_bucket
