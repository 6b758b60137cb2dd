-- SPDX-License-Identifier: Apache-2.0
-- FlowPaint, FlowAcquire, MidStat and StoreFlowID: something is noted of a flow, or
-- written into its packets. Behind a flow manager.

local ffi = require("ffi")
local element = require("click.element")
local state = require("click.flow.state")
local wire = require("click.net.wire")

local NO_FLOW = 1

-- What they have in common: `area`, the C type of what is noted of a flow; see(self,
-- area, p) notes it.
local function define(class)
  class.division, class.processing, class.drops = "flow", "h/h", {"no flow"}
  class.reads, class.lengthens, class.flow_moves = {"FLOW_ID"}, 0, true
  class.flow_state = ffi.typeof("uint64_t")
  local defined = element.define(class)
  function defined:initialize() self.area_of = state.of(self) end
  function defined:process(p)
    local area = self.area_of(p)
    if not area then return nil, NO_FLOW end
    self:see(area, p)
    return p
  end
  return defined
end

local FlowPaint = define{
  name = "FlowPaint", summary = "notes a colour of the packet's flow",
  arguments = {{"COLOR", "int", required = true}},
  handlers = {color = element.data("color", "int")},
  notes = "No element looks at it, neither here nor in FastClick: the packet's own "
    .. "paint (Paint) stays as it was.",
}

function FlowPaint:configure(a) self.color = a.COLOR end
function FlowPaint:see(area) area[0] = self.color end

local FlowAcquire = define{
  name = "FlowAcquire", summary = "passes packets: a flow stays as long as its manager "
    .. "keeps it",
  differs = "FastClick's keeps a flow from ending; here the flow manager's TIMEOUT "
    .. "alone says when it ends.",
}

function FlowAcquire.see() end

local MidStat = define{
  name = "MidStat", summary = "counts the packets of each flow",
  notes = "Nothing reads the counts: FlowCounter has handlers, FlowPrint prints.",
}

function MidStat.see(_, area) area[0] = area[0] + 1 end

-- StoreFlowID ------------------------------------------------------------------------

local LONG = 8 -- bytes of an identifier
local long_pointer = ffi.typeof("uint64_t *")

local StoreFlowID = define{
  name = "StoreFlowID", summary = "writes a number of its flow into each packet",
  arguments = {
    {"OFFSET", "unsigned", required = true, max = 65535},
    {"RANDOM", "bool", default = false, keyword = true},
  },
  notes = "Eight bytes, in the CPU's order, from OFFSET on: flows have the numbers 1, "
    .. "2 and so on; each copy of the router (-j) has numbers of its own. With RANDOM "
    .. "true it is another number in each packet. Shorter packets pass as they are.",
}

function StoreFlowID:configure(a)
  self.offset, self.random, self.number = a.OFFSET, a.RANDOM, 0ULL
end

--- Copies divide the numbers among themselves.
function StoreFlowID:initialize()
  self.area_of = state.of(self)
  local copy = self.router.options and self.router.options.copy
  if copy then
    self.number = ffi.cast("uint64_t", -1) / copy.of * copy.number
  end
end

function StoreFlowID:see(area, p)
  if area[0] == 0 then
    self.number = self.number + 1
    area[0] = self.number
  end
  if self.offset + LONG > p.length then return end
  local value = area[0]
  if self.random then value = math.random(0, 2 ^ 31 - 1) + 0ULL end
  ffi.cast(long_pointer, p.data + self.offset)[0] = value
  wire.barrier()
end

return {FlowPaint, FlowAcquire, MidStat, StoreFlowID}
