-- SPDX-License-Identifier: Apache-2.0
-- FlowRateLimiter and FlowRandLoad: what a flow may send, and what it costs. Behind a
-- flow manager.

local ffi = require("ffi")
local C = require("core.declare")("native/work.h")
local element = require("click.element")
local state = require("click.flow.state")
local token_bucket = require("net.rate.token_bucket")

local filled = token_bucket.filled
local NO_FLOW, TOO_FAST = 1, 2

-- FlowRateLimiter --------------------------------------------------------------------

local BURST_S = 0.02

local FlowRateLimiter = element.define{
  name = "FlowRateLimiter", summary = "drops what a flow sends above a rate",
  division = "flow", processing = "h/h", reads = {"FLOW_ID"}, lengthens = 0,
  drops = {"no flow", "flow is above its rate"},
  arguments = {
    {"RATE", "unsigned", required = true},
    {"BURST_DURATION", "seconds", keyword = true},
    {"BURST_SIZE", "unsigned", keyword = true},
  },
  flow_state = ffi.typeof("struct { double tokens, last; }"), flow_moves = true,
  notes = [[
RATE packets a second, of each flow. A flow that has been quiet may send BURST_SIZE
packets at once, at least 1; by default as many as RATE gives in BURST_DURATION, which
is 20 ms.]],
  differs = "FastClick prints a line for each batch that it drops something of.",
}

function FlowRateLimiter:configure(a)
  if a.BURST_DURATION and a.BURST_SIZE then
    return self:error("cannot specify both BURST_DURATION and BURST_SIZE")
  end
  local burst = a.BURST_SIZE or math.floor(a.RATE * (a.BURST_DURATION or BURST_S))
  self.rate, self.burst, self.dropped = a.RATE, math.max(1, burst), 0
end

function FlowRateLimiter:initialize() self.area_of = state.of(self) end

function FlowRateLimiter:process(p)
  local area = self.area_of(p)
  if not area then return nil, NO_FLOW end
  local now = self.router:steady()
  local tokens = self.burst
  if area.last ~= 0 then
    tokens = filled(area.tokens, self.rate, self.burst, now - area.last)
  end
  area.last = now
  if tokens < 1 then
    area.tokens, self.dropped = tokens, self.dropped + 1
    return nil, TOO_FAST
  end
  area.tokens = tokens - 1
  return p
end

FlowRateLimiter.handlers = {dropped = element.data("dropped")}

-- FlowRandLoad -----------------------------------------------------------------------

local FlowRandLoad = element.define{
  name = "FlowRandLoad", summary = "draws random numbers, as many as a flow's lot",
  division = "flow", processing = "h/h", reads = {"FLOW_ID"}, lengthens = 0,
  drops = {"no flow"},
  arguments = {
    {"MIN", "unsigned", default = 1, keyword = true},
    {"MAX", "unsigned", default = 100, keyword = true},
  },
  flow_state = ffi.typeof("uint64_t"), flow_moves = true,
  notes = "A flow's first packet chooses a number from MIN to MAX: each of its packets "
    .. "draws as many random numbers.",
}

function FlowRandLoad:configure(a)
  if a.MAX < a.MIN then
    return self:error("MAX %.0f is less than MIN %.0f", a.MAX, a.MIN)
  end
  local work = ffi.new("struct work_package")
  for _ = 1, 2 do work.state = work.state * 2 ^ 31 + math.random(1, 2 ^ 31 - 1) end
  self.work, self.least, self.most = work, a.MIN, a.MAX
end

function FlowRandLoad:initialize() self.area_of = state.of(self) end

function FlowRandLoad:process(p)
  local area = self.area_of(p)
  if not area then return nil, NO_FLOW end
  if area[0] == 0 then area[0] = 1 + math.random(self.least, self.most) end
  local draws = tonumber(area[0] - 1)
  C.pg_work_random(self.work, draws, draws)
  return p
end

return {FlowRateLimiter, FlowRandLoad}
