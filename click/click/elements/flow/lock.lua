-- SPDX-License-Identifier: Apache-2.0
-- FlowLock, which separates threads in FastClick, and FlowStack, which lets go of a
-- packet's flow there.

local element = require("click.element")

local FlowLock = element.define{
  name = "FlowLock", summary = "passes packets: a flow is with one core at a time",
  division = "flow", flow_moves = true,
  processing = "h/h", reads = {}, lengthens = 0,
  differs = "There is nothing to lock: a router on several cores is a copy on each, "
    .. "with flows of its own.",
}

function FlowLock.process(_, p) return p end

local FlowStack = element.define{
  name = "FlowStack", summary = "passes packets to another flow manager",
  processing = "h/h", reads = {}, lengthens = 0, division = "any",
  arguments = {{"RELEASE", "bool", default = false, keyword = true}},
  differs = "There is nothing to release: what a manager keeps of a flow is found by "
    .. "each packet's annotation.",
}

function FlowStack.process(_, p) return p end

return {FlowLock, FlowStack}
