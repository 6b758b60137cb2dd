-- SPDX-License-Identifier: Apache-2.0
-- MoonGen's module `software-ratecontrol`: a limiter in front of a transmit queue. It
-- paces in the thread that sends through it, and so needs no CPU of its own.

local arguments = require("moongen.arguments")
local clock = require("moongen.clock")
local pacer = require("moongen.pacing.pacer")
local rates = require("moongen.pacing.rates")
local log = require("moongen.log")
local serialize = require("moongen.tasks.serialize")

local Limiter = {}
Limiter.__index = Limiter

local M = {rateLimiter = Limiter}

local made = 0

local set = {
  cbr = function (p, ns) pacer.cbr(p, ns) end,
  poisson = function (p, ns, mbit) pacer.poisson(p, ns, mbit) end,
  custom = function (p, _, mbit) pacer.spacing(p, mbit) end,
}

--- A limiter for a queue. `mode`: "cbr", a packet each `delay` nanoseconds; "poisson",
--- exponentially distributed gaps of `delay` nanoseconds on average; "custom"
--- (default), each packet its own delay (`buf:setDelay`, bytes on the wire from the
--- start of the packet before). Some scripts write a dot for the colon.
function M.new(self, queue, mode, delay)
  if self ~= M then queue, mode, delay = self, queue, mode end
  if type(queue) ~= "table" or not queue.qid then
    log:fatal("a limiter is for a queue (device:getTxQueue()), not for %s",
      arguments.shown(queue))
  end
  mode = mode or "custom"
  if not set[mode] then
    log:fatal("Unsupported mode %s; there are cbr, poisson and custom", tostring(mode))
  end
  delay = tonumber(delay)
  if mode ~= "custom" and not (delay and delay > 0) then
    log:fatal("a limiter's delay is a number of nanoseconds above 0, not %s",
      tostring(delay))
  end
  made = made + 1
  local p = pacer.new(("%s, %s limiter"):format(tostring(queue), mode),
    queue.id * 1000 + queue.qid + made * 1000000)
  set[mode](p, delay, rates.link_speed(queue))
  return setmetatable({mode = mode, delay = delay, queue = queue, pacer = p}, Limiter)
end

--- The time stamp counter (a uint64_t).
function M.get_tsc_cycles() return clock.cycles() end

--- Send all buffers of the array at the limiter's times.
function Limiter:send(bufs) return self:sendN(bufs, bufs.size) end

--- Send the first `n` of them.
function Limiter:sendN(bufs, n)
  return self.queue:sendThrough(self.pacer, bufs, n)
end

--- Nothing of it goes on by itself: what was sent through it is sent.
function Limiter:stop() end -- luacheck: ignore 212

arguments.methods(Limiter, "a limiter", "pacer", {send = "buffers",
  sendN = "buffers, number", stop = ""})

serialize.class("moongen.pacing.limiter", "limiter", Limiter, function (l)
  return {mode = l.mode, delay = l.delay, queue = l.queue, pacer = l.pacer}
end, function (fields) return setmetatable(fields, Limiter) end)

return M
