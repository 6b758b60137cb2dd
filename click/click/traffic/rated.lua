-- SPDX-License-Identifier: Apache-2.0
-- The token bucket of elements with a rate, in packets, or in bytes where the class is
-- `in_bytes`: its arguments, and what becomes of them.

local token_bucket = require("net.rate.token_bucket")

local rated = {}

--- A bucket of bytes has so many beyond its burst, and lets a packet pass while there
--- are as many: so that what the packet takes is always there.
rated.MARGIN = 131072

local DEFAULT_BURST = 0.02 -- seconds

local ARGUMENTS = {{"RATE", "rate", required = true},
  {"BURST_DURATION", "interval", keyword = true},
  {"BURST_SIZE", "unsigned", keyword = true}}
local BYTE_ARGUMENTS = {{"RATE", "bandwidth", required = true}, ARGUMENTS[2],
  {"BURST_BYTES", "unsigned", keyword = true}}

--- The arguments of a class, and `more` of its own.
function rated.arguments(in_bytes, more)
  local list = {unpack(in_bytes and BYTE_ARGUMENTS or ARGUMENTS)}
  for _, argument in ipairs(more or {}) do list[#list + 1] = argument end
  return list
end

--- Give the element its `rate` and `bucket`; a running one keeps the tokens it has.
--- False if something is wrong, which is told.
function rated.configure(self, a)
  local size = a.BURST_SIZE or a.BURST_BYTES
  if size and a.BURST_DURATION then
    self:error("cannot specify both BURST_DURATION and BURST_SIZE")
    return false
  end
  size = size or math.floor(a.RATE * (a.BURST_DURATION or DEFAULT_BURST))
  local capacity = math.max(1, size + (self.in_bytes and rated.MARGIN or 0))
  self.rate = a.RATE
  if self.bucket then
    self.bucket:set_rate(a.RATE, capacity)
  else
    self.bucket = token_bucket.new(a.RATE, capacity)
  end
  return true
end

return rated
