-- SPDX-License-Identifier: Apache-2.0
-- How many ICMP errors may be sent: so many in each period.

local RateLimit = {}
RateLimit.__index = RateLimit

--- `packets` in `period` seconds.
function RateLimit.new(packets, period)
  return setmetatable({packets = packets, period = period, count = 0, start = 0},
    RateLimit)
end

--- May one more be sent at the time `now` (seconds)? Then it is counted.
function RateLimit:allow(now)
  if now - self.start >= self.period then self.start, self.count = now, 0 end
  if self.count >= self.packets then return false end
  self.count = self.count + 1
  return true
end

return RateLimit
