-- SPDX-License-Identifier: Apache-2.0
-- FlowCounter and FlowPrint: what passes, by flow. Behind a flow manager.

local C = require("click.flow.areas")
local ffi = require("ffi")

local element = require("click.element")
local state = require("click.flow.state")
local value_counts = require("click.value_counts")

local NO_FLOW = 1

-- FlowCounter ------------------------------------------------------------------------

local LONGEST = 32768 -- longer flows count as that long

local FlowCounter = element.define{
  name = "FlowCounter", summary = "counts flows, and packets of each",
  division = "flow",
  processing = "h/h", drops = {"no flow"}, reads = {"FLOW_ID"}, lengthens = 0,
  flow_state = ffi.typeof("struct click_counter_area"), flow_moves = true,
  notes = [[
count: flows that have begun; open: those that haven't ended. Of flows that have ended:
average and median length in packets, dump: how many had which length, most_seen and
most_seen_freq: the commonest length and how many had it, max: the greatest, nval: how
many lengths there were. Lengths above 32768 count as 32768.]],
  differs = "FastClick counts lengths from 0 on (one less each), and most of its "
    .. "handlers crash or stay 0 where flows aren't dynamic.",
}

function FlowCounter:configure()
  self.counts = ffi.new("struct click_flow_counts")
  value_counts.clear(self)
end

function FlowCounter:initialize() self.area_of = state.of(self) end

function FlowCounter:make_process()
  local area_of, counts = self.area_of, self.counts
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if area.packets == 0 then
      counts.begun, counts.open = counts.begun + 1, counts.open + 1
    end
    area.packets = area.packets + 1
    return p
  end
end

--- For net.keep (click.flow.kept).
function FlowCounter:kept_area(a) a.kind, a.counts = C.AREA_COUNTER, self.counts end

--- A flow of which packets have passed is over.
function FlowCounter:flow_ended(area)
  if area.packets == 0 then return end
  self.counts.open = self.counts.open - 1
  value_counts.see(self, math.min(area.packets, LONGEST))
end

--- A flow's packets go to another copy from now on, or come from one. Each has counted
--- those of flows that began there; together they are right.
function FlowCounter:flow_left(area)
  if area.packets > 0 then self.counts.open = self.counts.open - 1 end
end

function FlowCounter:flow_came(area)
  if area.packets > 0 then self.counts.open = self.counts.open + 1 end
end

FlowCounter.handlers = {
  count = {read = function (self) return self.counts.begun end},
  open = {read = function (self) return self.counts.open end},
}
for name, handler in pairs(value_counts.handlers) do
  FlowCounter.handlers[name] = FlowCounter.handlers[name] or handler
end

-- FlowPrint --------------------------------------------------------------------------

local FlowPrint = element.define{
  name = "FlowPrint", summary = "prints the numbers of packets' flows",
  division = "flow",
  processing = "h/h", drops = {"no flow"}, reads = {"FLOW_ID"}, lengthens = 0,
  arguments = {
    {"CONTINUE", "bool", default = false},
    {"PTR", "bool", default = false, keyword = true},
  },
  flow_state = ffi.typeof("uint64_t"), flow_moves = true,
  notes = "Packets of no flow are dropped, or pass if CONTINUE is true. PTR: print the "
    .. "address of the flow's state, too.",
  differs = "Each packet has a line. Flows are numbered from 1 on. The count is the "
    .. "flow's packets that have come here.",
}

function FlowPrint:configure(a) self.passes, self.with_address = a.CONTINUE, a.PTR end

-- It needs no flow manager, but knows flows by one.
function FlowPrint:initialize()
  self.area_of = rawget(self, "flow_places") and state.of(self)
    or function () return nil end
end

function FlowPrint:process(p)
  local area = self.area_of(p)
  if not area then
    self:say("1 packets not from a specific flow...")
    if self.passes then return p end
    return nil, NO_FLOW
  end
  area[0] = area[0] + 1
  self:remark("1 packets from flow %d. Count : %d%s", state.number(p),
    tonumber(area[0]),
    self.with_address and (". Ptr 0x%x"):format(tonumber(ffi.cast("uintptr_t", area)))
      or "")
  return p
end

return {FlowCounter, FlowPrint}
