-- SPDX-License-Identifier: Apache-2.0
-- Token bucket: tokens come in at a rate and are kept up to a burst's size; what
-- takes more than there are must wait.

local ffi = require("ffi")
local lib = require("core.lib")
local tsc = require("lib.tsc")

local token_bucket = {}

local Bucket = {}
local meta = {__index = Bucket}

--- A full bucket: `rate` tokens a second, at most `burst_size` kept (default: those
--- of one second).
function token_bucket.new(arg)
  local config = lib.parse(arg, {rate = {required = true}, burst_size = {}})
  local clock = tsc.new()
  local bucket = setmetatable({
    _stamp = ffi.new("uint64_t[1]"), -- when _tokens was true; a box, to spare garbage
    _time_fn = clock:time_fn(), _tps = tonumber(clock:tps()),
  }, meta)
  bucket:set(config.rate, config.burst_size)
  return bucket
end

local function check_positive(name, value)
  if type(value) ~= "number" or value <= 0 or value ~= value then
    error(("a token bucket's %s can't be %s; give a number above 0")
      :format(name, tostring(value)), 3)
  end
end

--- Change the rate, unless nil, and the burst size (default: the rate); the bucket
--- is full afterwards.
function Bucket:set(rate, burst_size)
  if rate ~= nil then
    check_positive("rate", rate)
    self._rate = rate
    self._ticks_per_token = math.max(1, self._tps / rate) + 0ULL
  end
  if burst_size == nil then burst_size = self._rate end
  check_positive("burst size", burst_size)
  self._burst_size = math.ceil(burst_size)
  self._tokens = self._burst_size
  self._stamp[0] = self._time_fn()
end

--- Rate and burst size.
function Bucket:get()
  return self._rate, self._burst_size
end

--- Whether there are `n` (default 1) tokens.
function Bucket:can_take(n)
  n = n or 1
  if n <= self._tokens then return true end
  local elapsed = self._time_fn() - self._stamp[0]
  if elapsed < self._ticks_per_token then return false end
  local fresh = elapsed / self._ticks_per_token
  self._stamp[0] = self._stamp[0] + fresh * self._ticks_per_token
  self._tokens = math.min(self._burst_size, self._tokens + tonumber(fresh))
  return n <= self._tokens
end

--- Take `n` (default 1) tokens if there are as many; whether there were.
function Bucket:take(n)
  n = n or 1
  if not self:can_take(n) then return false end
  self._tokens = self._tokens - n
  return true
end

--- Take all tokens there are; how many.
function Bucket:take_burst()
  self:can_take(self._burst_size)
  local tokens = self._tokens
  self._tokens = 0
  return tokens
end

return token_bucket
