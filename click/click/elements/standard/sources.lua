-- SPDX-License-Identifier: Apache-2.0
-- Sources of equal packets: as fast as they go, at a rate, or at intervals.

local element = require("click.element")
local ffi = require("ffi")
local from_hex = require("net.wire.bytes").from_hex
local note = require("click.note")
local packet = require("core.packet")
local token_bucket = require("net.rate.token_bucket")

-- The 69 bytes of a packet without DATA are Click's, so that what compares packets with
-- its own finds no difference.
local DEFAULT_DATA = from_hex[[
  52616e646f6d2062756c6c7368697420696e2061207061636b65742c206174206c656173
  74203634206279746573206c6f6e672e2057656c6c2c206e6f772069742069732e]]

-- What all sources share ---------------------------------------------------

local Source = {}

-- Prepare the packets' bytes: `data`, repeated or cut to `length` if that isn't -1.
-- True, unless they are too many.
function Source:set_bytes(data, length)
  if math.max(length, #data) > packet.max_payload then
    self:error("packets have at most %d bytes", packet.max_payload)
    return false
  end
  self.data, self.length = data, length
  local text = data
  if length >= 0 then
    if #data == 0 then data = "\0" end
    text = data:rep(math.ceil(length / #data)):sub(1, length)
  end
  self.bytes, self.size = ffi.new("uint8_t[?]", #text + 1), #text
  ffi.copy(self.bytes, text, #text)
  return true
end

local from_pointer, clear = packet.from_pointer, note.clear
local TIMESTAMP = note.TIMESTAMP

-- A new packet.
function Source:make()
  local p = from_pointer(self.bytes, self.size)
  clear(p)
  if self.timestamp then p.note64[TIMESTAMP] = self.router:nanoseconds() end
  return p
end

-- Find what is to be called at the end. True, unless that is two things.
function Source:prepare_end(call, stop)
  if call and stop then
    self:error("END_CALL and STOP are mutually exclusive")
    return false
  end
  self.end_call = call or stop and "stop"
  return true
end

function Source:initialize_end()
  if not self.end_call then return end
  local call, problem = self.router:writer(self.end_call, self)
  if not call then return self:error("%s", problem) end
  self.at_end = call
end

-- How many packets of `n` the limit allows.
local function within_limit(self, n)
  if self.limit < 0 then return n end
  return math.max(0, math.min(n, self.limit - self.count))
end

-- A handler was written to: go on, if there is more to send.
local function restart(self)
  if not (self.active and (self.limit < 0 or self.count < self.limit)) then return end
  if self:is_pushing() then self:schedule()
  elseif self.signal then self.signal:set(true) end
end

-- It was configured again while it runs.
function Source:reconfigured()
  self.at_end = nil
  self:initialize_end()
  restart(self)
end

local function remake(self) self:set_bytes(self.data, self.length) end

local function source_handlers(extra)
  local handlers = {
    data = {
      raw = true,
      read = function (self) return self.data end,
      write = function (self, text) self:set_bytes(text, self.length) end,
    },
    limit = element.data("limit", "int", restart),
    active = element.data("active", "bool", restart),
    count = element.data("count"),
    reset = element.command(function (self) self.count = 0; restart(self) end),
    length = element.data("length", "int", remake),
    datasize = element.data("length", "int", remake),
  }
  for name, handler in pairs(extra) do handlers[name] = handler end
  return handlers
end

local function define(class)
  for name, method in pairs(Source) do class[name] = method end
  class.ports, class.emits = "0/1", true
  return element.define(class)
end

-- InfiniteSource -----------------------------------------------------------

local InfiniteSource = define{
  name = "InfiniteSource", summary = "makes packets whenever it is scheduled",
  live = true,
  division = "none", undivided = "it makes packets itself, in one row",
  notifies = "empty", task_can_wait = true,
  arguments = {
    {"DATA", "data", default = DEFAULT_DATA},
    {"LIMIT", "int", default = -1},
    {"BURST", "int", default = 1},
    {"ACTIVE", "bool", default = true},
    {"TIMESTAMP", "bool", default = true, keyword = true},
    {"HEADROOM", "unsigned", keyword = true},
    {"LENGTH", "int", default = -1, keyword = true},
    {"DATASIZE", "int", keyword = true},
    {"STOP", "bool", default = false, keyword = true},
    {"END_CALL", "argument", keyword = true},
  },
  handlers = source_handlers{
    burst = element.data("burst", "int", restart),
    burstsize = element.data("burst", "int", restart),
  },
}

function InfiniteSource:configure(a)
  if a.BURST < 1 then return self:error("burst size must be >= 1") end
  if not self:set_bytes(a.DATA, a.DATASIZE or a.LENGTH)
    or not self:prepare_end(a.END_CALL, a.STOP) then return end
  self.limit, self.burst, self.active = a.LIMIT, a.BURST, a.ACTIVE
  self.count, self.timestamp = self.count or 0, a.TIMESTAMP
end

function InfiniteSource:initialize()
  self:initialize_end()
  if self:is_pushing() then
    self.full = self.router:full_gate(self, 1)
    self:schedule()
  end
end

local function send(self, n)
  local emit = self.emit
  for _ = 1, n do emit(1, self:make()) end
end

function InfiniteSource:task()
  if not (self.active and self.full.active) then
    self:unschedule()
    return false
  end
  local n = within_limit(self, self.burst)
  send(self, n)
  self.count = self.count + n
  if n > 0 then return true end
  self:unschedule()
  if self.at_end then self.at_end() end
  return false
end

function InfiniteSource:pull()
  local ended = self.limit >= 0 and self.count >= self.limit
  if ended or not self.active then
    if ended and self.active and self.at_end then self.at_end() end
    self.signal:set(false)
    return nil
  end
  self.count = self.count + 1
  return self:make()
end

-- RatedSource --------------------------------------------------------------

local FEW = 200      -- packets a second up to which bursts are of two
local BURSTS = 100   -- a second, above that
local MOST_AT_ONCE = 32

local function burst_for(rate) return rate < FEW and 2 or math.floor(rate / BURSTS) end

local function change_rate(self)
  self.bucket:set_rate(self.rate, burst_for(self.rate))
  restart(self) -- it may wait for a token of the rate before
end

local RatedSource = define{
  name = "RatedSource", summary = "makes packets at a rate", task_can_wait = true,
  live = true,
  division = "none", undivided = "it makes packets itself, in one row",
  arguments = {
    {"DATA", "data", default = DEFAULT_DATA},
    {"RATE", "unsigned", default = 10},
    {"LIMIT", "int", default = -1},
    {"ACTIVE", "bool", default = true},
    {"HEADROOM", "unsigned", keyword = true},
    {"LENGTH", "int", default = -1, keyword = true},
    {"DATASIZE", "int", keyword = true},
    {"STOP", "bool", default = false, keyword = true},
    {"BANDWIDTH", "bandwidth", keyword = true},
    {"END_CALL", "argument", keyword = true},
  },
  handlers = source_handlers{rate = element.data("rate", "unsigned", change_rate)},
}

function RatedSource:configure(a)
  if not self:set_bytes(a.DATA, a.DATASIZE or a.LENGTH)
    or not self:prepare_end(a.END_CALL, a.STOP) then return end
  self.limit, self.active, self.count = a.LIMIT, a.ACTIVE, self.count or 0
  self.timestamp, self.rate, self.burst = true, a.RATE, MOST_AT_ONCE
  if a.BANDWIDTH and a.BANDWIDTH > 0 then
    local rate = a.BANDWIDTH / math.max(1, self.size)
    self.rate = rate >= 1 and math.floor(rate) or rate -- less than 1 isn't 0
  end
  self.bucket = token_bucket.new(self.rate, burst_for(self.rate))
end

function RatedSource:initialize()
  self:initialize_end()
  self.timer = self.router:timer(function () self:schedule() end)
  if self:is_pushing() and self.active then self:schedule() end
end

-- Nothing more to send for now; at the limit, for good.
local function pause(self)
  self:unschedule()
  if self.limit >= 0 and self.count >= self.limit then
    if self.at_end then self.at_end() end
  elseif self.active then
    local wait = self.bucket:time_until(1)
    if wait < math.huge then self.timer:after(wait) end
  end
  return false
end

local function take(self, most)
  self.bucket:refill(self.router:steady())
  local n = within_limit(self, math.min(most, math.floor(self.bucket.n)))
  self.bucket:remove(n)
  self.count = self.count + n
  return n
end

function RatedSource:task()
  local n = self.active and take(self, self.burst) or 0
  if n == 0 then return pause(self) end
  send(self, n)
  return true
end

function RatedSource:pull()
  if not self.active then return nil end
  if take(self, 1) == 1 then return self:make() end
  if self.limit >= 0 and self.count >= self.limit and self.at_end then self.at_end() end
  return nil
end

-- TimedSource --------------------------------------------------------------

local function wake(self)
  if self.active and not self.timer:scheduled() then self.timer:after(0) end
end

local TimedSource = define{
  name = "TimedSource", summary = "makes a packet at each interval", processing = "h/h",
  division = "none", undivided = "it makes packets itself, in one row",
  arguments = {
    {"INTERVAL", "interval", default = 0.5},
    {"DATA", "data", default = DEFAULT_DATA},
    {"LIMIT", "int", default = -1, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"STOP", "bool", default = false, keyword = true},
    {"HEADROOM", "unsigned", keyword = true},
  },
  handlers = source_handlers{
    interval = element.data("interval", "interval"),
    active = element.data("active", "bool", wake),
    limit = element.data("limit", "int"),
    reset = element.command(function (self) self.count = 0; wake(self) end),
  },
}

function TimedSource:configure(a)
  self.interval, self.limit, self.active = a.INTERVAL, a.LIMIT, a.ACTIVE
  self.count, self.timestamp = 0, true
  self:set_bytes(a.DATA, -1)
  self:prepare_end(nil, a.STOP)
end

function TimedSource:initialize()
  self:initialize_end()
  self.timer = self.router:timer(function () self:tick_over() end)
  if self.active then self.timer:after(self.interval) end
end

--- An interval has passed.
function TimedSource:tick_over()
  if not self.active then return end
  if within_limit(self, 1) == 1 then
    self.count = self.count + 1
    self.emit(1, self:make())
    self.timer:again(self.interval)
  elseif self.at_end then
    self.at_end()
  end
end

return {InfiniteSource, RatedSource, TimedSource}
