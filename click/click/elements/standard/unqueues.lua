-- SPDX-License-Identifier: Apache-2.0
-- From pull to push: at full speed, at a rate, or after a delay. They sleep while
-- nothing upstream has packets.

local configure = require("click.router.configure")
local element = require("click.element")
local ethernet = require("net.wire.ethernet")
local note = require("click.note")
local packet = require("core.packet")
local rated = require("click.traffic.rated")
local signals = require("click.router.signals")

local NO_LIMIT = 2 ^ 31

-- Unqueue ------------------------------------------------------------------

local function wake(self)
  local more = self.limit < 0 or self.count < self.limit
  if self.active and more then self:schedule() end
end

local function set_burst(self)
  if self.burst < 0 then self.burst = NO_LIMIT end
  return wake(self)
end

local function reset(self)
  self.count = 0
  return wake(self)
end

local Unqueue = element.define{
  name = "Unqueue", summary = "pulls packets, and pushes them", processing = "l/h",
  division = "any",
  emits = true,
  arguments = {
    {"BURST", "int", default = 1},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"SIGNAL", "bool", default = true, keyword = true},
    {"LIMIT", "int", default = -1, keyword = true},
  },
  handlers = {
    active = element.data("active", "bool", wake),
    count = element.data("count"),
    burst = element.data("burst", "int", set_burst),
    limit = element.data("limit", "int", wake),
    reset = element.command(reset),
    reset_counts = element.command(reset),
  },
}

function Unqueue:configure(a)
  self.burst, self.active, self.limit, self.count = a.BURST, a.ACTIVE, a.LIMIT, 0
  self.signal_used = a.SIGNAL
  if a.BURST < 0 then self.burst = NO_LIMIT end
  if a.BURST == 0 then self:warning("BURST size 0, no packets will be pulled") end
end

function Unqueue:initialize()
  self.gate = self.signal_used and self.router:gate(self, 1) or signals.BUSY
  if self.active then self:schedule() end
end

local function move(self, n)
  local pull, emit = self.pull_from[1], self.emit
  for moved = 0, n - 1 do
    if not self.active then return moved end
    local p = pull()
    if not p then return moved end
    self.count = self.count + 1
    emit(1, p)
  end
  return n
end

function Unqueue:task()
  local n = math.min(self.burst, self.router.most_at_once)
  if self.limit >= 0 then n = math.min(n, self.limit - self.count) end
  if not self.active or n <= 0 and self.limit >= 0 then
    self:unschedule()
    return false
  end
  local moved = move(self, n)
  if moved < n and not self.gate.active then self:unschedule() end
  return moved > 0
end

-- At a rate ----------------------------------------------------------------

local BURST, ACTIVE = {"BURST", "int", default = -1, keyword = true},
  {"ACTIVE", "bool", default = true, keyword = true}

local function calls_text(self)
  return ("%d calls to run_task()\n%d empty runs\n%d pushes\n%d failed pulls\n")
    :format(self.runs, self.empty_runs, self.pushes, self.failed_pulls)
    .. ("%d packets\n"):format(self.count)
end

local RatedUnqueue = element.define{
  name = "RatedUnqueue", summary = "pulls and pushes so many packets a second",
  division = "none", undivided = "it keeps all packets together to one rate",
  processing = "l/h", emits = true, live = true,
  arguments = rated.arguments(false, {BURST, ACTIVE}),
  handlers = {
    rate = {read = function (self) return self.rate end,
            write = configure.keyword("RATE", 1)},
    active = element.data("active", "bool", function (self)
      if self.active then self:schedule() end
    end),
    reset = element.command(function (self) self.bucket:clear() end),
    calls = {read = calls_text},
    count = element.data("count"),
  },
}

local DEFAULT_BURST = 32

function RatedUnqueue:configure(a)
  local is_running = self.bucket ~= nil
  if not rated.configure(self, a) then return end
  self.burst = a.BURST >= 0 and a.BURST or self.in_bytes and 1 or DEFAULT_BURST
  if is_running then return end
  self.active = a.ACTIVE
  self.extra, self.on_wire = a.EXTRA_LENGTH, a.LINK_RATE
  self.runs, self.empty_runs, self.pushes, self.failed_pulls, self.count = 0, 0, 0, 0, 0
end

--- It may wait for a token of the rate before.
function RatedUnqueue:reconfigured() self:schedule() end

function RatedUnqueue:initialize()
  self.gate = self.router:gate(self, 1)
  self.timer = self.router:timer(function () self:schedule() end)
  self:schedule()
end

-- Wait until the bucket has `n` tokens.
local function wait_for(self, n)
  self.empty_runs = self.empty_runs + 1
  self:unschedule()
  local wait = self.bucket:time_until(n)
  if wait < math.huge then self.timer:after(wait) end
  return false
end

-- Tokens that a packet takes.
function RatedUnqueue:cost() return 1 end -- luacheck: no self

local function push_some(self, n)
  local pull, emit, bucket = self.pull_from[1], self.emit, self.bucket
  for moved = 0, n - 1 do
    local p = pull()
    if not p then return moved end
    bucket:remove(self:cost(p))
    emit(1, p)
  end
  return n
end

-- Push up to `n` packets; whether it did.
local function run(self, n)
  local moved = push_some(self, n)
  if moved == 0 then
    self.failed_pulls = self.failed_pulls + 1
    if not self.gate.active then self:unschedule() end
    return false
  end
  self.count, self.pushes = self.count + moved, self.pushes + 1
  return true
end

function RatedUnqueue:task()
  self.runs = self.runs + 1
  if not self.active then
    self:unschedule()
    return false
  end
  self.bucket:refill(self.router:steady())
  if not self.bucket:contains(self.least) then return wait_for(self, self.least) end
  return run(self, self:most())
end

-- The tokens that it begins with, and the packets that it then moves at once.
RatedUnqueue.least = 1
function RatedUnqueue:most() return math.min(self.burst, math.floor(self.bucket.n)) end

local BandwidthRatedUnqueue = element.define{
  name = "BandwidthRatedUnqueue", extends = RatedUnqueue, in_bytes = true,
  summary = "pulls and pushes so many bytes a second",
  arguments = rated.arguments(true, {BURST, ACTIVE,
    {"EXTRA_LENGTH", "bool", default = false, keyword = true},
    {"LINK_RATE", "bool", default = false, keyword = true}}),
}

function BandwidthRatedUnqueue:cost(p)
  local bytes = p.length
  if self.extra then bytes = bytes + p.note32[note.EXTRA_LENGTH] end
  return self.on_wire and bytes + ethernet.OVERHEAD or bytes
end

BandwidthRatedUnqueue.least = rated.MARGIN
function BandwidthRatedUnqueue:most() return self.burst end

-- After a delay ------------------------------------------------------------

local DelayUnqueue = element.define{
  name = "DelayUnqueue", summary = "pushes packets so long after their timestamps",
  division = "none", undivided = "it keeps all packets together to one rate",
  processing = "l/h", emits = true,
  arguments = {{"DELAY", "interval", required = true}},
  handlers = {delay = element.data("delay", "interval")},
}

function DelayUnqueue:configure(a) self.delay = a.DELAY end

function DelayUnqueue:initialize()
  self.gate = self.router:gate(self, 1)
  self.timer = self.router:timer(function () self:schedule() end)
  self:schedule()
end

-- The packet that waits next, with its time to leave as timestamp; or nil.
local function fetch(self)
  local p = self.waiting or self.pull_from[1]()
  if p and not self.waiting then
    local stamp = p.note64[note.TIMESTAMP]
    if stamp < 1000000000ULL then stamp = self.router:nanoseconds() end
    p.note64[note.TIMESTAMP] = stamp + self.delay * 1e9
  end
  self.waiting = p
  return p
end

--- Packets that it holds (click.router.run_out).
function DelayUnqueue:backlog() return self.waiting and 1 or 0 end

function DelayUnqueue:task()
  local worked = false
  while true do
    local p = fetch(self)
    if not p then
      if not self.gate.active then self:unschedule() end
      return worked
    end
    local wait = tonumber(p.note64[note.TIMESTAMP] - self.router:nanoseconds()) / 1e9
    if wait > 0 and wait < 1e9 then
      self:unschedule()
      self.timer:after(wait)
      return worked
    end
    self.waiting, worked = nil, true
    self.emit(1, p)
  end
end

function DelayUnqueue:cleanup()
  if self.waiting then packet.free(self.waiting) end
  self.waiting = nil
end

return {Unqueue, RatedUnqueue, BandwidthRatedUnqueue, DelayUnqueue}
