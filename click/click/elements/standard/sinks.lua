-- SPDX-License-Identifier: Apache-2.0
-- Where packets end, and elements that let them pass or never do.

local element = require("click.element")
local packet = require("core.packet")
local signals = require("click.router.signals")

local Null = element.define{
  name = "Null", summary = "passes packets unchanged",
  division = "any",
  aliases = {"Null1", "Null2", "Null3", "Null4", "Null5", "Null6", "Null7", "Null8"},
  reads = {}, lengthens = 0,
}

function Null:process(p) return p end

local PushNull = element.define{
  name = "PushNull", extends = Null, summary = "the same, pushing", processing = "h/h",
}
local PullNull = element.define{
  name = "PullNull", extends = Null, summary = "the same, pulling", processing = "l/l",
}

-- Idle ---------------------------------------------------------------------

local Idle = element.define{
  name = "Idle", summary = "drops what is pushed, and gives nothing", ports = "-/-",
  division = "any",
  flow = "x/y", silent = true, drops = {"idle"}, reads = {}, lengthens = 0,
}

function Idle:configure()
  self.signal = signals.new(false)
end

function Idle:process() return nil, 1 end
function Idle:pull() return nil end

-- Discard ------------------------------------------------------------------

local NO_LIMIT = 2 ^ 31

local function set_active(self)
  if self.active then self:schedule() else self:unschedule() end
end

local Discard = element.define{
  name = "Discard", summary = "drops all packets", ports = "1/0",
  division = "any",
  aliases = {"DiscardNoFree"}, drops = {"discarded"}, reads = {}, lengthens = 0,
  arguments = {
    {"ACTIVE", "bool", default = true, keyword = true},
    {"BURST", "unsigned", default = 1, keyword = true},
  },
  handlers = {
    count = element.data("count"),
    reset_counts = element.command(function (self) self.count = 0 end),
    active = element.data("active", "bool", set_active),
  },
}

function Discard:configure(a)
  self.active, self.burst, self.count = a.ACTIVE, a.BURST, 0
  if self.burst == 0 then self.burst = NO_LIMIT end
  self.pulling = self.processing.inputs == "l"
  if not self.active and not self.pulling then
    self:error("ACTIVE is meaningless in push context")
  end
end

function Discard:initialize()
  if not self.pulling then return end
  self.gate = self.router:gate(self, 1)
  if self.active then self:schedule() end
end

function Discard:process()
  self.count = self.count + 1
  return nil, 1
end

function Discard:task()
  local pull, left = self.pull_from[1], self.burst
  while left > 0 do
    local p = pull()
    if not p then break end
    packet.free(p)
    left = left - 1
    self.count = self.count + 1
  end
  local did = left < self.burst
  if not (self.active and (did or self.gate.active)) then self:unschedule() end
  return did
end

-- TimedSink ----------------------------------------------------------------

local TimedSink = element.define{
  name = "TimedSink", summary = "pulls a packet at each interval, and drops it",
  ports = "1/0", processing = "l/l",
  arguments = {{"INTERVAL", "interval", default = 0.5}},
  handlers = {interval = element.data("interval", "interval")},
}

function TimedSink:configure(a) self.interval = a.INTERVAL end

function TimedSink:initialize()
  self.timer = self.router:timer(function (timer)
    local p = self.pull_from[1]()
    if p then packet.free(p) end
    timer:again(self.interval)
  end)
  self.timer:after(self.interval)
end

-- Without signals: what pulls through it has to try.
local SimpleIdle = element.define{
  name = "SimpleIdle", extends = Idle, summary = "as Idle, but sends no signals",
}

function SimpleIdle:configure() end

return {Null, PushNull, PullNull, Idle, Discard, TimedSink, SimpleIdle}
