-- SPDX-License-Identifier: Apache-2.0
-- Pull elements with several inputs: each pull is passed on to one of them, in turns,
-- by priority, by tickets, by time, or as is set.

local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local signals = require("click.router.signals")
local strides = require("click.scheduling.strides")

local function nothing() end

-- Learn which inputs may have packets. wake(i): input i has some again.
local function find_signals(self, wake)
  self.gates = {}
  for i = 1, self.ninputs do
    self.gates[i] = self.router:gate(self, i, wake and function () wake(i) end
      or nothing)
  end
end

local function may_have(self, i) return self.gates[i].active end

local function define(class)
  class.ports, class.processing = class.ports or "-/1", "l/l"
  class.silent = true
  return element.define(class)
end

-- In turns, by priority ----------------------------------------------------

local RoundRobinSched = define{
  name = "RoundRobinSched", aliases = {"RRSched"}, initialize = find_signals,
  summary = "pulls from its inputs in turns", arguments = {{"MAX", "unsigned"}},
}

function RoundRobinSched:configure(a)
  self.most, self.turn = math.min(a.MAX or self.ninputs, self.ninputs), 1
end

-- Look at the others in turn, from that after `i` on.
local function pull_others(self, i)
  local n = self.most
  for _ = 2, n do
    i = i < n and i + 1 or 1
    local p = may_have(self, i) and self.pull_from[i]()
    if p then
      self.turn = i < n and i + 1 or 1
      return p
    end
  end
  return nil
end

function RoundRobinSched:pull()
  local i, n = self.turn, self.most
  local p = n > 0 and may_have(self, i) and self.pull_from[i]()
  if not p then return (pull_others(self, i)) end
  self.turn = i < n and i + 1 or 1
  return p
end

local PrioSched = define{
  name = "PrioSched", initialize = find_signals,
  summary = "pulls from the first input that has a packet",
}

function PrioSched:pull()
  for i = 1, self.ninputs do
    local p = may_have(self, i) and self.pull_from[i]()
    if p then return p end
  end
  return nil
end

-- The same without asking whether there are packets.
local function always_busy(self)
  self.gates = {}
  for i = 1, self.ninputs do self.gates[i] = signals.BUSY end
end

local SimpleRoundRobinSched = define{
  name = "SimpleRoundRobinSched", extends = RoundRobinSched, initialize = always_busy,
  summary = "as RoundRobinSched, but tries all inputs", aliases = {"SimpleRRSched"},
}

local SimplePrioSched = define{
  name = "SimplePrioSched", extends = PrioSched, initialize = always_busy,
  summary = "as PrioSched, but tries all inputs",
}

-- By tickets ---------------------------------------------------------------

local StrideSched = define{
  name = "StrideSched", ports = "1-/1", initialize = find_signals,
  summary = "pulls from its inputs by tickets", handlers = strides.handlers,
}

function StrideSched:configure_raw(list)
  strides.configure(self, list, self.ninputs, "input")
end

function StrideSched:pull()
  return strides.find(self.clients, function (client)
    return may_have(self, client.port) and self.pull_from[client.port]() or nil
  end)
end

-- By bytes ------------------------------------------------------------------

-- Deficit round robin (Shreedhar and Varghese, Efficient Fair Queuing using Deficit
-- Round Robin, 1995).
local DRRSched = define{
  name = "DRRSched", notifies = "empty", notifies_on = "through",
  summary = "pulls from its inputs in turns, the same bytes from each",
  arguments = {{"QUANTUM", "int", default = 500}},
}

function DRRSched:configure(a)
  if a.QUANTUM <= 0 then return self:error("bad QUANTUM") end
  self.quantum, self.turn = a.QUANTUM, 1
  self.heads, self.deficits = {}, {} -- by input: what waits; bytes that it may send
  for i = 1, self.ninputs do self.deficits[i] = 0 end
end

function DRRSched:initialize()
  find_signals(self, function () self.signal:set(true) end)
end

--- Packets that it holds (click.router.run_out).
function DRRSched:backlog()
  local n = 0
  for i = 1, self.ninputs do n = n + (self.heads[i] and 1 or 0) end
  return n
end

-- The packet that input `i` has next; and may it have some?
local function next_of(self, i)
  local p = self.heads[i]
  if p then
    self.heads[i] = nil
    return p, true
  end
  if not may_have(self, i) then return nil, false end
  return self.pull_from[i](), true
end

function DRRSched:pull()
  local some = false
  for _ = 1, self.ninputs do
    local i = self.turn
    local p, may = next_of(self, i)
    some = some or may
    if not p then
      self.deficits[i] = 0
    elseif p.length <= self.deficits[i] then
      self.deficits[i] = self.deficits[i] - p.length
      self.signal:set(true, true)
      return p
    else
      self.heads[i] = p
    end
    self.turn = i < self.ninputs and i + 1 or 1
    self.deficits[self.turn] = self.deficits[self.turn] + self.quantum
  end
  self.signal:set(some, true)
  return nil
end

function DRRSched:cleanup()
  for _, p in pairs(self.heads or {}) do packet.free(p) end
  self.heads = {}
end

-- As is set ----------------------------------------------------------------

-- The input (-1: none) that `n`, from 0, stands for.
local function input_of(self, n) return n >= 0 and n < self.ninputs and n + 1 or -1 end

local function read_switch(self)
  return self.chosen < 0 and -1 or self.chosen - 1
end

local function write_switch(self, text)
  local n = tonumber(text)
  if not n or n % 1 ~= 0 then return "syntax error" end
  self.chosen = input_of(self, n)
  if self.switched then self:switched() end
end

local SWITCH = {switch = {read = read_switch, write = write_switch},
                config = {read = read_switch}}

local SimplePullSwitch = define{
  name = "SimplePullSwitch", arguments = {{"INPUT", "int", default = 0}},
  summary = "pulls from an input that can be changed", handlers = SWITCH,
}

function SimplePullSwitch:configure(a) self.chosen = input_of(self, a.INPUT) end

function SimplePullSwitch:pull()
  local i = self.chosen
  if i < 0 then return nil end
  return self.pull_from[i]()
end

--- Does it pull from that input (click.router.run_out)?
function SimplePullSwitch:pulls_from(i) return i == self.chosen end

local StaticPullSwitch = define{
  name = "StaticPullSwitch", arguments = {{"INPUT", "int", required = true}},
  summary = "pulls from one input", configure = SimplePullSwitch.configure,
  pull = SimplePullSwitch.pull, pulls_from = SimplePullSwitch.pulls_from,
}

local PullSwitch = define{
  name = "PullSwitch", extends = SimplePullSwitch, notifies = "empty",
  summary = "the same, and signals whether that input has packets",
}

function PullSwitch:initialize()
  self.signal:set(self.chosen > 0, true)
  find_signals(self, function (i)
    if i == self.chosen then self.signal:set(true) end
  end)
end

function PullSwitch:pull()
  local i = self.chosen
  local p = i > 0 and self.pull_from[i]() or nil
  if p then self.signal:set(true, true)
  elseif i < 0 or not may_have(self, i) then self.signal:set(false) end
  return p
end

function PullSwitch:switched()
  if self.chosen < 0 then self.signal:set(false)
  elseif may_have(self, self.chosen) then self.signal:set(true) end
end

-- By time ------------------------------------------------------------------

local TimeSortedSched = define{
  name = "TimeSortedSched", notifies = "empty", notifies_on = "through",
  summary = "pulls the packet with the earliest timestamp",
  arguments = {
    {"STOP", "bool", default = false, keyword = true},
    {"BUFFER", "unsigned", default = 1, keyword = true},
  },
  handlers = {well_ordered = element.data("well_ordered")},
}

function TimeSortedSched:configure(a)
  if a.BUFFER == 0 then return self:error("BUFFER must be at least 1") end
  self.stop_at_end, self.buffer, self.well_ordered = a.STOP, a.BUFFER, true
  self.held = {} -- packets that wait: {packet =, time =, input =}, the earliest first
  self.room = {} -- how many more each input may have there
  for i = 1, self.ninputs do self.room[i] = a.BUFFER end
end

function TimeSortedSched:initialize()
  find_signals(self, function () self.signal:set(true) end)
end

local function hold(self, p, i)
  local held, time = self.held, p.note64[note.TIMESTAMP]
  local at = #held + 1
  while at > 1 and held[at - 1].time > time do at = at - 1 end
  table.insert(held, at, {packet = p, time = time, input = i})
  self.room[i] = self.room[i] - 1
end

-- Fetch what there is; whether an input may have more later.
local function fill(self)
  local more = false
  for i = 1, self.ninputs do
    if self.room[i] > 0 and may_have(self, i) then
      more = true
      while self.room[i] > 0 do
        local p = self.pull_from[i]()
        if not p then break end
        hold(self, p, i)
      end
    end
  end
  return more
end

--- Packets that it holds (click.router.run_out).
function TimeSortedSched:backlog() return #self.held end

function TimeSortedSched:pull()
  local more = fill(self)
  local first = table.remove(self.held, 1)
  self.signal:set(first ~= nil or more, true)
  if not first then
    if self.stop_at_end and not more then self.router:stop() end
    return nil
  end
  if self.latest and first.time < self.latest then self.well_ordered = false end
  self.latest = first.time
  self.room[first.input] = self.room[first.input] + 1
  return first.packet
end

function TimeSortedSched:cleanup()
  for _, entry in ipairs(self.held or {}) do packet.free(entry.packet) end
  self.held = {}
end

return {RoundRobinSched, PrioSched, SimpleRoundRobinSched, SimplePrioSched, StrideSched,
        DRRSched, SimplePullSwitch, StaticPullSwitch, PullSwitch, TimeSortedSched}
