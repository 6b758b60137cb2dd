-- SPDX-License-Identifier: Apache-2.0
-- Elements of FastClick that have to do with threads. A router runs on one, so most
-- have nothing to do.

local element = require("click.element")

local function pass(_, p, i) return p, i end

local function define_pass(name, summary, fields)
  local class = {name = name, summary = summary, process = pass, division = "any"}
  for field, value in pairs(fields or {}) do class[field] = value end
  class = element.define(class)
  if not class.arguments[1] then
    function class:configure_raw() end -- luacheck: no self
  end
  return class
end

local PathSpinlock = define_pass("PathSpinlock",
  "passes packets: no other thread is in the way", {ports = "1-/=", flow = "#/#"})
local SpinlockAcquire = define_pass("SpinlockAcquire", "passes packets")
local SpinlockRelease = define_pass("SpinlockRelease", "passes packets")
local SpinlockInfo = define_pass("SpinlockInfo", "does nothing", {ports = "0/0"})
local MinBatch = define_pass("MinBatch", "passes packets: there are no batches")

-- Pipeliner: as a queue and an Unqueue on another thread -------------------

local LEAST_CAPACITY = 4 -- packets

local Pipeliner = element.define{
  name = "Pipeliner", summary = "passes packets of all its inputs", ports = "1-/1",
  division = "any",
  hands_over = true,
  processing = "h/h",
  arguments = {
    {"CAPACITY", "int"}, {"BURST", "int"}, {"BLOCKING", "bool"},
    {"NOUSELESS", "bool", keyword = true}, {"ACTIVE", "bool", keyword = true},
    {"DIRECT_TRAVERSAL", "bool", keyword = true},
    {"ALLOW_DIRECT_TRAVERSAL", "bool", keyword = true},
    {"ALWAYS_UP", "bool", keyword = true}, {"PREFETCH", "bool", keyword = true},
    {"VERBOSE", "bool", keyword = true},
  },
  handlers = {
    count = element.data("count"), dropped = {read = function () return 0 end},
  },
}

function Pipeliner:configure(a)
  self.count = 0
  if a.CAPACITY and a.CAPACITY > 0 and a.CAPACITY < LEAST_CAPACITY then
    self:error("Pipeliner ring size must be at least %d", LEAST_CAPACITY)
  end
end

function Pipeliner:process(p)
  self.count = self.count + 1
  return p
end

-- CPUSwitch: an output for each thread -------------------------------------

local CPUSwitch = element.define{
  name = "CPUSwitch", aliases = {"ExactCPUSwitch"}, ports = "1/1-", processing = "h/h",
  summary = "sends packets to the output of the thread that they are on: the first",
}

function CPUSwitch:process(p) return p end

return {PathSpinlock, SpinlockAcquire, SpinlockRelease, SpinlockInfo, MinBatch,
        Pipeliner, CPUSwitch}
