-- SPDX-License-Identifier: Apache-2.0
-- RateLimiter: a token bucket of bytes; drops the packets that there are no tokens for.

local C = require("core.native")
local counter = require("core.counter")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local unfused = require("core.fuse.unfused")

local filled = require("net.rate.token_bucket").filled

local add, now = counter.add, engine.now
local EXCEEDED = 1

local RateLimiter = {
  config = {
    rate = {required = true},
    bucket_capacity = {required = true},
    initial_capacity = {},
  },
  drops = {"over_rate"},
}
RateLimiter.__index = RateLimiter
RateLimiter.division = "none"
RateLimiter.undivided = "it keeps all packets together to one rate"

RateLimiter.link_names = {input = {input = true}, output = {output = true}}

local function check(what, value, least)
  if type(value) ~= "number" or not (value >= least and value < math.huge) then
    failure.usage("a rate limiter's %s can't be %s; give a number of bytes from %d on",
      what, tostring(value), least)
  end
end

local function check_all(rate, bucket_capacity, initial_capacity)
  check("rate", rate, 0)
  check("bucket_capacity", bucket_capacity, 0)
  check("initial_capacity", initial_capacity or 0, 0)
end

--- Set rate (bytes a second), capacity and content of the bucket (bytes; full).
function RateLimiter:reset(rate, bucket_capacity, initial_capacity)
  check_all(rate, bucket_capacity, initial_capacity)
  self.rate, self.bucket_capacity = rate, bucket_capacity
  self.bucket_content = initial_capacity or bucket_capacity
end

--- Another rate or capacity: the tokens that are there stay, as far as the bucket holds
--- them. `initial_capacity` is of a new bucket only.
function RateLimiter.reconfig_keeps(fresh, running)
  fresh.bucket_content = math.min(running.bucket_content, fresh.bucket_capacity)
  return {"last_time"}
end

function RateLimiter:new(conf)
  local app = unfused.new(self, {shm = {txdrop = {counter}}})
  RateLimiter.reset(app, conf.rate, conf.bucket_capacity, conf.initial_capacity)
  return app
end

-- Tokens come once a breath: the engine's time stands still within it.
local function fill(self, time)
  self.bucket_content = filled(self.bucket_content, self.rate, self.bucket_capacity,
    time - (self.last_time or time))
  self.last_time = time
end

function RateLimiter:process(p)
  local time = now()
  if time ~= self.last_time then fill(self, time) end
  local length, content = p.length, self.bucket_content
  if length <= content then
    self.bucket_content = content - length
    return p
  end
  add(self.shm.txdrop)
  return nil, EXCEEDED
end

unfused.give_push(RateLimiter)

--- Packets received (`rx`) and sent (`tx`) so far, and the `time` in nanoseconds, of
--- the clock that Snabb's programs compare it with (C.get_time_ns).
function RateLimiter:get_stat_snapshot()
  return {
    rx = link.stats(self.input.input).txpackets,
    tx = link.stats(self.output.output).txpackets,
    time = tonumber(C.pg_raw_ns()),
  }
end
RateLimiter.snapshot = RateLimiter.get_stat_snapshot

return {RateLimiter = RateLimiter}
