-- SPDX-License-Identifier: Apache-2.0
-- FlowSwitch and FlowRoundRobinSwitch: an output for each flow. Behind a flow manager.

local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local ffi = require("ffi")
local servers = require("click.flow.servers")

local read_ends = C.pg_flow_ends
local NO_FLOW = 1

local FlowSwitch = servers.attach(element.define{
  name = "FlowSwitch", summary = "sends each flow to one of its outputs",
  division = "flow", ports = "1/1-",
  processing = "h/h", handlers = balancer.handlers,
  arguments = balancer.arguments{},
  drops = {"no flow"}, lengthens = 0,
  reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  notes = "Outputs are what the load balancers' servers are.\n" .. balancer.notes,
  differs = "Unknown modes are errors. MODE, which FastClick's own example writes, is "
    .. "LB_MODE there, too.",
})

-- The outputs, as numbered servers.
local function begin(self)
  self.addresses = ffi.new("uint32_t[?]", self.noutputs)
  for i = 0, self.noutputs - 1 do self.addresses[i] = i end
end

function FlowSwitch:configure(a)
  if not balancer.configure(self, a, self.noutputs) then return end
  begin(self)
  self:say("%s :: %s has %d routes", self.name, self.class.name, self.noutputs)
end

function FlowSwitch:make_process()
  local area_of, ends = self.area_of, self.tuple
  local tracks, track = self.tracks, balancer.track
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if tracks or area.server == 0 then read_ends(p, ends) end
    if area.server == 0 then area.server = self.choose(self, p, ends) + 1 end
    local server = area.server
    if tracks then track(self, p, server - 1, ends.tcp_flags, area) end
    return p, server
  end
end

local FlowRoundRobinSwitch = servers.attach(element.define{
  name = "FlowRoundRobinSwitch", summary = "sends flows to its outputs in turn",
  division = "flow", ports = "1/1-",
  processing = "h/h", drops = {"no flow"}, lengthens = 0, reads = {"FLOW_ID"},
})

function FlowRoundRobinSwitch:configure()
  balancer.configure(self, {LB_MODE = "rr", LST_MODE = "conn", NSERVER = 0,
    AWRR_ALPHA = 0, AWRR_TIME = 100}, self.noutputs)
  begin(self)
end

function FlowRoundRobinSwitch:make_process()
  local area_of = self.area_of
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if area.server == 0 then area.server = self.choose(self) + 1 end
    return p, area.server
  end
end

return {FlowSwitch, FlowRoundRobinSwitch}
