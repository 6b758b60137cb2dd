-- SPDX-License-Identifier: Apache-2.0
-- Elements that let so many packets or bytes a second pass.

local arguments = require("click.arguments")
local configure = require("click.router.configure")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local rated = require("click.traffic.rated")
local schedule = require("net.rate.schedule")
local slots = require("click.traffic.slots")

local EXTRA_LENGTH, TIMESTAMP = note.EXTRA_LENGTH, note.TIMESTAMP

-- Shaper: pulls at most at a rate ------------------------------------------

local function rate_handlers()
  local read = function (self) return self.rate end
  return {
    rate = {read = read, write = configure.keyword("RATE", 1)},
    config = {read = read},
    reset = element.command(function (self) self.begun = false end),
  }
end

local Shaper = element.define{
  name = "Shaper", summary = "pulls up to so many packets a second", ports = "1/1-2",
  division = "none", undivided = "it keeps all packets together to one rate",
  processing = "l/l", live = true, arguments = {{"RATE", "rate", required = true}},
  handlers = rate_handlers(),
}

local CATCH_UP_S = 1

function Shaper:configure(a)
  self.rate, self.begun = a.RATE, false
  self.times = self.times or schedule.new(CATCH_UP_S)
end

local function is_due(self)
  if self.rate == 0 then return false end
  if not self.begun then
    slots.restart(self.times, self.router, self.rate)
    self.begun = true
  end
  return schedule.begin(self.times, self.router:steady())
end

-- What a packet counts.
function Shaper:cost() return 1 end -- luacheck: no self

function Shaper:pull(o)
  local due = is_due(self)
  if due ~= (o == 1) then return nil end
  local p = self.pull_from[1]()
  if p and o == 1 then schedule.advance(self.times, self:cost(p) / self.rate) end
  return p
end

local BandwidthShaper = element.define{
  name = "BandwidthShaper", extends = Shaper, ports = "1/1-2",
  summary = "pulls up to so many bytes a second",
  arguments = {{"RATE", "bandwidth", required = true}},
}

function BandwidthShaper:cost(p) return p.length end -- luacheck: no self

-- RatedSplitter: what is beyond the rate goes to the second output ---------

local RatedSplitter = element.define{
  name = "RatedSplitter", summary = "passes so many packets a second", ports = "1/1-2",
  division = "none", undivided = "it keeps all packets together to one rate",
  processing = "h/h", live = true, drops = {"beyond the rate"},
  arguments = rated.arguments(false), handlers = rate_handlers(),
  configure = rated.configure, least = 1,
}

function RatedSplitter:process(p)
  local bucket = self.bucket
  bucket:refill(self.router:steady())
  if bucket:contains(self.least) then
    bucket:remove(self.in_bytes and p.length or 1)
    return p
  end
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

local BandwidthRatedSplitter = element.define{
  name = "BandwidthRatedSplitter", extends = RatedSplitter, in_bytes = true,
  least = rated.MARGIN, summary = "passes so many bytes a second", ports = "1/1-2",
  arguments = rated.arguments(true),
}

-- LinkUnqueue: as a link with a bandwidth and a latency --------------------

local LinkUnqueue = element.define{
  name = "LinkUnqueue", summary = "pulls packets, and pushes them as a link would",
  division = "none", undivided = "it keeps all packets together to one rate",
  processing = "l/h", emits = true,
  arguments = {
    {"LATENCY", "interval", required = true},
    {"BANDWIDTH", "bandwidth", required = true},
  },
}

local LEAST_BANDWIDTH = 100 -- bytes a second

function LinkUnqueue:configure(a)
  if a.BANDWIDTH > 0 and a.BANDWIDTH < LEAST_BANDWIDTH then
    return self:error("bandwidth too small, minimum %dBps, or 0 to disable bandwidth",
      LEAST_BANDWIDTH)
  end
  self.latency, self.bandwidth = a.LATENCY, a.BANDWIDTH
  self.first, self.last, self.waiting = 1, 0, {} -- {packet =, time =} by number
end

function LinkUnqueue:initialize()
  self.gate = self.router:gate(self, 1)
  self.timer = self.router:timer(function () self:schedule() end)
  self:schedule()
end

--- Packets that it holds (click.router.run_out).
function LinkUnqueue:backlog() return self.last - self.first + 1 end

local function tail(self) return self.waiting[self.last] end

local function enter(self, p, now)
  local before = self.busy and tail(self)
  local time = before and before.time or now + self.latency
  if self.bandwidth > 0 then
    time = time + (p.length + p.note32[EXTRA_LENGTH]) / self.bandwidth
  end
  self.last = self.last + 1
  self.waiting[self.last] = {packet = p, time = time}
  self.busy = true
end

-- Take in what the link has room for.
local function take_in(self, now)
  local worked = false
  while not tail(self) or tail(self).time <= now + self.latency do
    local p = self.pull_from[1]()
    if not p then
      self.busy = false
      break
    end
    enter(self, p, now)
    worked = true
  end
  return worked
end

local function leave(self, now)
  local worked = false
  while self.first <= self.last and self.waiting[self.first].time <= now do
    local entry = self.waiting[self.first]
    self.waiting[self.first], self.first, worked = nil, self.first + 1, true
    entry.packet.note64[TIMESTAMP] = self.router.clock:nanoseconds_at(entry.time)
    self.emit(1, entry.packet)
  end
  return worked
end

-- When there will be something to do.
local function next_time(self)
  local time = self.waiting[self.first].time
  if self.gate.active then
    time = math.min(time, tail(self).time - self.latency)
  end
  return time
end

function LinkUnqueue:task()
  local now = self.router:steady()
  local took = take_in(self, now)
  local left = leave(self, now)
  if self.first <= self.last then
    self:unschedule()
    self.timer:at_steady(math.max(now, next_time(self)))
  elseif not self.gate.active then
    self:unschedule()
  end
  return took or left
end

function LinkUnqueue:cleanup()
  for n = self.first or 1, self.last or 0 do packet.free(self.waiting[n].packet) end
  self.first, self.last, self.waiting = 1, 0, {}
end

local function restart(self)
  self:cleanup()
  self.timer:unschedule()
  self:schedule()
end

local function change(field, kind)
  return {
    read = function (self) return self[field] end,
    write = function (self, text)
      local value = arguments.value(text, {field, kind}, self)
      if not value then return "invalid " .. field end
      self[field] = value
      restart(self)
    end,
  }
end

LinkUnqueue.handlers.latency = change("latency", "interval")
LinkUnqueue.handlers.bandwidth = change("bandwidth", "bandwidth")
LinkUnqueue.handlers.reset = element.command(restart)
LinkUnqueue.handlers.size = {read = function (self)
  return self.last - self.first + 1
end}

return {Shaper, BandwidthShaper, RatedSplitter, BandwidthRatedSplitter, LinkUnqueue}
