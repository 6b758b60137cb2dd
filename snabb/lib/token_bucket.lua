-- SPDX-License-Identifier: Apache-2.0
-- Snabb's token bucket: net.rate.token_bucket on the CPU's clock, of whole tokens.

local lib = require("core.lib")
local rate = require("net.rate.token_bucket")
local tsc = require("lib.tsc")

local token_bucket = {}

local Bucket = {}
local meta = {__index = Bucket}

--- A full bucket: `rate` tokens a second, at most `burst_size` kept (default: those
--- of one second).
function token_bucket.new(arg)
  local config = lib.parse(arg, {rate = {required = true}, burst_size = {}})
  local clock = tsc.new()
  local bucket = {_time_fn = clock:time_fn(), _tps = tonumber(clock:tps())}
  setmetatable(bucket, meta)
  bucket:set(config.rate, config.burst_size)
  return bucket
end

local function check_positive(name, value)
  if type(value) ~= "number" or value <= 0 or value ~= value then
    error(("a token bucket's %s can't be %s; give a number above 0")
      :format(name, tostring(value)), 3)
  end
end

-- Add the tokens that have come. Times are in ticks since the bucket was set.
local function refill(self)
  self._bucket:refill(tonumber(self._time_fn() - self._began))
end

--- Change the rate, unless nil, and the burst size (default: the rate); the bucket
--- is full afterwards.
function Bucket:set(wanted, burst_size)
  if wanted ~= nil then
    check_positive("rate", wanted)
    self._rate = wanted
  end
  if burst_size == nil then burst_size = self._rate end
  check_positive("burst size", burst_size)
  self._burst_size = math.ceil(burst_size)
  self._began = self._time_fn()
  self._bucket = rate.new(self._rate / self._tps, self._burst_size)
  self._bucket:refill(0)
end

--- Rate and burst size.
function Bucket:get()
  return self._rate, self._burst_size
end

--- Whether there are `n` (default 1) tokens.
function Bucket:can_take(n)
  n = n or 1
  if self._bucket:contains(n) then return true end
  refill(self)
  return self._bucket:contains(n)
end

--- Take `n` (default 1) tokens if there are as many; whether there were.
function Bucket:take(n)
  n = n or 1
  if not self:can_take(n) then return false end
  self._bucket:remove(n)
  return true
end

--- Take all tokens there are; how many.
function Bucket:take_burst()
  refill(self)
  local tokens = math.floor(self._bucket.n)
  self._bucket:remove(tokens)
  return tokens
end

return token_bucket
