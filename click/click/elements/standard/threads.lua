-- SPDX-License-Identifier: Apache-2.0
-- Elements of FastClick that have to do with threads. A router runs on one, so most
-- have nothing to do.

local cpu_switches = require("click.threads.cpu_switches")
local element = require("click.element")
local packet_thread = require("click.threads.packet_thread")

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
  packet_thread.take(p)
  return p
end

-- CPUSwitch: an output for each thread -------------------------------------

local function define_switch(name, summary)
  local class = element.define{
    name = name, summary = summary, ports = "1/1-", processing = "h/h",
    division = "any", drops = {"unknown thread"}, reads = {"THREAD"},
  }

  function class:configure_raw() end -- luacheck: no self

  function class:make_process()
    local own, n, passing = packet_thread.own(self.router), self.noutputs, self.passing
    local outputs = {}
    for thread = 0, packet_thread.MOST do
      local output = cpu_switches.output(name, n, passing, thread)
      outputs[thread] = output and output + 1 or 0
    end
    return function (_, p)
      local output = outputs[packet_thread.of(p, own)]
      if output > 0 then return p, output end
      return nil, 1
    end
  end

  -- The threads of packets that come: of copies, all that there are.
  function class:initialize()
    local options = self.router.options or {}
    local lists, copy = options.passing, options.copy
    self.passing = lists and lists[self.name] or {copy and copy.number or 0}
  end

  return class
end

local CPUSwitch = define_switch("CPUSwitch",
  "sends packets to the output with their thread's number")
local ExactCPUSwitch = define_switch("ExactCPUSwitch",
  "sends packets to an output for each thread whose packets come")

return {PathSpinlock, SpinlockAcquire, SpinlockRelease, SpinlockInfo, MinBatch,
        Pipeliner, CPUSwitch, ExactCPUSwitch}
