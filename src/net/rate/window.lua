-- SPDX-License-Identifier: Apache-2.0
-- At most so many in each period, such as ICMP errors (RFC 1812, section 4.3.2.8). What
-- a period didn't use the next doesn't have: who wants that takes a token bucket.

local window = {}
window.__index = window

--- `most` in `period` seconds.
function window.new(most, period)
  return setmetatable({most = most, period = period, count = 0, start = 0}, window)
end

--- May one more be at the time `now` (seconds)? Then it is counted.
function window:allow(now)
  if now - self.start >= self.period then self.start, self.count = now, 0 end
  if self.count >= self.most then return false end
  self.count = self.count + 1
  return true
end

return window
