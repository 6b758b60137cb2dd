-- SPDX-License-Identifier: Apache-2.0
-- FlowIPManager and its relatives, which FastClick has by the kind of table: here all
-- have the same one (net.flow). They differ in their arguments' defaults.

local manager = require("click.flow.manager")

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

local FlowIPManager = manager.define{
  name = "FlowIPManager", summary = "finds each packet's flow; ends idle ones",
  aliases = {"FlowIPManagerMP"}, differs = SAME .. " An ended flow's state is given "
    .. "back: a new flow begins with none of it.",
  arguments = {
    manager.CAPACITY, manager.RESERVE, timeout(60), flag("LF", false),
    flag("CACHE", true), manager.verbose(1), interval("unsigned"),
  },
}

local FlowIPManagerIMP = manager.define{
  name = "FlowIPManagerIMP", summary = "finds each packet's flow",
  aliases = {"FlowIPManager_CuckooPP", "FlowIPManager_DPDK"}, differs = SAME,
  arguments = {
    manager.CAPACITY, manager.RESERVE, timeout(0), flag("CACHE", true),
    manager.verbose(0), interval("real"),
  },
}

local FlowIPManagerHMP = manager.define{
  name = "FlowIPManagerHMP", summary = "finds each packet's flow, and ends none",
  any_capacity = true, differs = "CAPACITY is a limit (FastClick writes past its array "
    .. "then), and the handler `count` works. RESERVE isn't needed.",
  arguments = {manager.CAPACITY, manager.RESERVE, manager.verbose(0)},
}

return {FlowIPManager, FlowIPManagerIMP, FlowIPManagerHMP}
