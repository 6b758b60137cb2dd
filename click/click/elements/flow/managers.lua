-- SPDX-License-Identifier: Apache-2.0
-- FlowIPManager and its relatives, which FastClick has by the kind of table: here all
-- have the same one (net.flow). They differ in their arguments' defaults.

local ffi = require("ffi")

local manager = require("click.flow.manager")
local note = require("click.note")
local state = require("click.flow.state")

local function flag(name, default)
  return {name, "bool", default = default, keyword = true}
end

local function interval(kind)
  return {"RECYCLE_INTERVAL", kind, default = 1, min = 0, keyword = true}
end

local function timeout(default)
  return {"TIMEOUT", "int", default = default, keyword = true}
end

local SAME = "All flow managers have one kind of table, so CACHE and LF change "
  .. "nothing, and RESERVE isn't needed: elements get their room by themselves."

local FULL = "When CAPACITY flows are there, packets of others are dropped."
local AGES = "A flow ends when no packet has come for TIMEOUT seconds (0: never); "
  .. "every RECYCLE_INTERVAL seconds those are looked for. " .. FULL
local NEVER = "Flows don't end. "

local FlowIPManager = manager.define{
  name = "FlowIPManager", summary = "finds each packet's flow; ends idle ones",
  aliases = {"FlowIPManagerMP"}, notes = AGES,
  differs = SAME .. " An ended flow's state is given back: a new flow begins with none "
    .. "of it. RSS++'s GROUPS, DEF_THREAD, MARK and DO_MIGRATION change nothing: flows "
    .. "move with DeviceBalancer.",
  arguments = {
    manager.CAPACITY, manager.RESERVE, timeout(60), flag("LF", false),
    flag("CACHE", true), manager.verbose(1), interval("unsigned"),
    {"GROUPS", "unsigned", keyword = true}, {"DEF_THREAD", "unsigned", keyword = true},
    {"MARK", "bool", keyword = true}, {"DO_MIGRATION", "bool", keyword = true},
  },
}

local FlowIPManagerIMP = manager.define{
  name = "FlowIPManagerIMP", summary = "finds each packet's flow",
  aliases = {"FlowIPManager_CuckooPP", "FlowIPManager_DPDK"}, notes = AGES,
  differs = SAME,
  arguments = {
    manager.CAPACITY, manager.RESERVE, timeout(0), flag("CACHE", true),
    manager.verbose(0), interval("real"),
  },
}

local FlowIPManagerHMP = manager.define{
  name = "FlowIPManagerHMP", summary = "finds each packet's flow, and ends none",
  any_capacity = true, notes = NEVER .. FULL,
  differs = "CAPACITY is a limit (FastClick writes past its array then), and the "
    .. "handler `count` works. RESERVE isn't needed.",
  arguments = {manager.CAPACITY, manager.RESERVE, manager.verbose(0)},
}

-- FlowIPManagerBucket ----------------------------------------------------------------

local AGGREGATE, TOO_MANY = note.AGGREGATE, 2

local FlowIPManagerBucket = manager.define{
  name = "FlowIPManagerBucket", any_capacity = true, flow_moves = false,
  summary = "finds each packet's flow; counts flows by RSS bucket",
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  differs = "Flows stay with the core that they came to, so DEF_THREAD, MARK and "
    .. "DO_MIGRATION change nothing. RESERVE isn't needed.",
  arguments = {
    {"GROUPS", "unsigned", default = 512, min = 1, max = 65536},
    {"CAPACITY", "unsigned", default = 65536, min = 1, max = 2 ^ 26},
    manager.RESERVE, {"DEF_THREAD", "unsigned", keyword = true}, manager.verbose(1),
    flag("MARK", false), flag("DO_MIGRATION", true),
  },
  notes = NEVER .. "The aggregate annotation, modulo GROUPS, is a packet's bucket. "
    .. "When a bucket has CAPACITY flows, its packets of others are dropped. count "
    .. "says how many flows each has, a line a bucket.",
}

function FlowIPManagerBucket:configure(a)
  self.groups, self.of_each = a.GROUPS, a.CAPACITY
  a.CAPACITY = math.min(a.GROUPS * a.CAPACITY, 2 ^ 26)
  manager.configure(self, a)
  self.counts = ffi.new("uint32_t[?]", self.groups)
end

function FlowIPManagerBucket:make_process()
  local find, native, counts, groups, most = manager.make_process(self), self.native,
    self.counts, self.groups, self.of_each
  return function (_, p)
    local q, drop = find(nil, p)
    if not q or native.added == 0 then return q, drop end
    local group = p.note32[AGGREGATE] % groups
    if counts[group] >= most then
      self:end_flow(state.number(p))
      return nil, TOO_MANY
    end
    counts[group] = counts[group] + 1
    return p
  end
end

--- Nothing says of a kept flow which bucket it counts in.
function FlowIPManagerBucket:kept_state() end -- luacheck: no unused args
function FlowIPManagerBucket:take_state() end -- luacheck: no unused args

FlowIPManagerBucket.handlers.count = {read = function (self)
  local list = {}
  for i = 0, self.groups - 1 do list[i + 1] = ("%d\n"):format(self.counts[i]) end
  return table.concat(list)
end}

return {FlowIPManager, FlowIPManagerIMP, FlowIPManagerHMP, FlowIPManagerBucket}
