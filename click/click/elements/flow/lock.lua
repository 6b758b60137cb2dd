-- SPDX-License-Identifier: Apache-2.0
-- FlowLock, which keeps threads apart in FastClick.

local element = require("click.element")

local FlowLock = element.define{
  name = "FlowLock", summary = "passes packets: a flow is with one core at a time",
  division = "flow",
  processing = "h/h", reads = {}, lengthens = 0,
  differs = "There is nothing to lock: a router on several cores is a copy on each, "
    .. "with flows of its own.",
}

function FlowLock.process(_, p) return p end

return {FlowLock}
