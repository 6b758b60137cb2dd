-- SPDX-License-Identifier: Apache-2.0
-- SetCycleCount and CycleCountAccum: how many cycles of the CPU's counter packets take
-- from one element to another. RoundTripCycleCount: how many the elements take that it
-- pushes to, or pulls from.

local C = require("core.native")
local element = require("click.element")
local note = require("click.note")

local PERFCTR = note.PERFCTR

-- SetCycleCount --------------------------------------------------------------------

local SetCycleCount = element.define{
  name = "SetCycleCount", summary = "notes the CPU's cycle counter", reads = {},
}

function SetCycleCount.process(_, p)
  p.note64[PERFCTR] = C.pg_tsc()
  return p
end

-- CycleCountAccum ------------------------------------------------------------------

local function reset(self) self.count, self.cycles, self.zero_count = 0, 0ULL, 0 end

local function digits(value) return (tostring(value):gsub("%a+$", "")) end

local CycleCountAccum = element.define{
  name = "CycleCountAccum", summary = "adds up the cycles since SetCycleCount",
  reads = {"PERFCTR"},
  handlers = {
    count = element.data("count"), zero_count = element.data("zero_count"),
    cycles = {read = function (self) return digits(self.cycles) end},
    cycles_pp = {read = function (self)
      return self.count > 0 and digits(self.cycles / self.count) or "0"
    end},
    reset_counts = element.command(reset),
  },
  differs = "`cycles` are those of all packets; FastClick adds each batch's average.",
}

CycleCountAccum.configure = reset

local function meet_zero(self)
  if self.zero_count == 0 then
    self:remark("packet with zero cycle counter annotation!")
  end
  self.zero_count = self.zero_count + 1
end

function CycleCountAccum:process(p)
  local before = p.note64[PERFCTR]
  if before == 0 then
    meet_zero(self)
  else
    self.cycles = self.cycles + (C.pg_tsc() - before)
    self.count = self.count + 1
  end
  return p
end

CycleCountAccum.take_state = function (self, old)
  self.count, self.cycles, self.zero_count = old.count, old.cycles, old.zero_count
end

-- RoundTripCycleCount --------------------------------------------------------------

local function clear(self) self.packets, self.cycles = 0, 0ULL end

local RoundTripCycleCount = element.define{
  name = "RoundTripCycleCount", emits = true, reads = {},
  summary = "adds up the cycles that a push or a pull takes to come back",
  handlers = {
    packets = element.data("packets"),
    cycles = {read = function (self) return digits(self.cycles) end},
    reset_counts = element.command(clear),
  },
  differs = "What follows a queue, a device or another CPU isn't in it.",
}

RoundTripCycleCount.configure = clear

function RoundTripCycleCount:process(p)
  local began = C.pg_tsc()
  self.emit(1, p)
  self.cycles = self.cycles + (C.pg_tsc() - began)
  self.packets = self.packets + 1
  return false
end

function RoundTripCycleCount:pull()
  local began = C.pg_tsc()
  local p = self.pull_from[1]()
  self.cycles = self.cycles + (C.pg_tsc() - began)
  if p then self.packets = self.packets + 1 end
  return p
end

RoundTripCycleCount.take_state = function (self, old)
  self.packets, self.cycles = old.packets, old.cycles
end

return {SetCycleCount, CycleCountAccum, RoundTripCycleCount}
