-- SPDX-License-Identifier: Apache-2.0
-- Spaces packets in time as their timestamps are: the first is due at once.

local ffi = require("ffi")

local note = require("click.note")

local timing = {}

local Timing = {}
Timing.__index = Timing

local int64 = ffi.typeof("int64_t")

local CLOSE = 1e-6 -- seconds by which a packet may be early

--- For the clock of a router. wake() is called when a packet that wasn't due is.
function timing.new(router, wake)
  return setmetatable({router = router, timer = router:timer(wake)}, Timing)
end

--- Is the packet due? If not, wake() will be called when it is.
function Timing:is_due(p)
  local now, stamp = self.router:steady(), int64(p.note64[note.TIMESTAMP])
  if not self.first then self.first, self.began = stamp + 0LL, now end
  local wait = self.began + tonumber(stamp - self.first) / 1e9 - now
  if wait <= CLOSE then return true end
  self.timer:after(wait)
  return false
end

return timing
