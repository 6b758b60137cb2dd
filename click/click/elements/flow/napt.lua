-- SPDX-License-Identifier: Apache-2.0
-- FlowNAPTLoadBalancer sends each flow to one of several servers, from an address that
-- goes with the server and a port of its own; FlowNAPTLoadBalancerReverse brings
-- answers back. Each is behind a flow manager.

local ffi = require("ffi")

local answers = require("click.flow.answers")
local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local note = require("click.note")
local ports = require("click.flow.ports")
local servers = require("click.flow.servers")
local state = require("click.flow.state")
local wire = require("click.net.wire")

local read_ends, set_end, set_address = C.pg_flow_ends, C.pg_flow_set_end,
  C.pg_flow_set_address
local swap16, DST_IP = wire.swap16, note.DST_IP
local FORWARD = ports.FORWARD
local NO_FLOW, NO_PORTS = 1, 2

local FlowNAPTLoadBalancer = element.define{
  name = "FlowNAPTLoadBalancer", division = "answers",
  summary = "sends each flow to one of several servers, from a port of its own",
  processing = "h/h", flow_state = ports.area, lengthens = 0, drops = ports.DROPS,
  arguments = balancer.arguments{
    {"DST", "ip", required = true, list = true, each = true},
    {"SIP", "ip", required = true, list = true, each = true, keyword = true},
    {"STATE", "bool", default = true, keyword = true},
  },
  reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  notes = [[
Each DST has a SIP: packets to that server come from that address. With STATE true,
TCP connections must begin with SYN, and their ports are free again when both sides
have sent FIN or one RST; otherwise when the flow managers have ended the flow and its
answers.
Flows have one of the ports 1024 to 65535 each, whatever their server.
]] .. balancer.notes,
  differs = "LB_MODE and its handlers are there, and conn and open always: how many "
    .. "flows have come, and how many of them were answered. UDP needs no STATE false. "
    .. "Late packets of a connection keep its port; the last FIN or RST passes.",
}

function FlowNAPTLoadBalancer:configure(a)
  self:say("%s :: %s has %d routes and %d sources", self.name, self.class.name, #a.DST,
    #a.SIP)
  if #a.DST ~= #a.SIP then
    return self:error("The number of SIP must match DST")
  end
  if not balancer.configure_ip(self, a) then return end
  self.sources = ffi.new("uint32_t[?]", #a.SIP)
  for i, address in ipairs(a.SIP) do self.sources[i - 1] = wire.number_of(address) end
  self.watches, self.only_syn, self.ports = a.STATE, a.STATE, ports.new(self)
  self.counts, self.answered = ffi.new("struct click_flow_counts"), 0
end

function FlowNAPTLoadBalancer:initialize()
  self.area_of = state.of(self)
  balancer.start(self)
end

-- A port and a server for a new flow; or nil, and why there is none.
local function begin(self, p, area)
  local refusal = ports.refusal(self)
  if refusal then return nil, refusal end
  local server = self.choose(self, p, self.tuple)
  local port, m = ports.begin(self, area, self.addresses[server], self.sources[server])
  if not port then return nil, m end
  balancer.leave(self, area.server, area)
  area.server = server
  self.ports.sign(area)
  m.destination, m.server = self.tuple.destination, self.addresses[area.server]
  self.counts.begun = self.counts.begun + 1
  return port
end

--- For click.flow.answers: what comes from the server of the port that it goes to.
function FlowNAPTLoadBalancer:join(area)
  local port = swap16(self.tuple.dport)
  if self.ports.mappings[port].server ~= self.tuple.source then return false end
  local joined, first = self.ports:join(area, port)
  if first then self.answered = self.answered + 1 end
  return joined
end

--- For net.keep (click.flow.kept): each flow has its server and its port still.
function FlowNAPTLoadBalancer:kept_notes()
  local list = {}
  for i = 0, self.servers - 1 do
    list[i + 1] = ("%d/%d"):format(self.addresses[i], self.sources[i])
  end
  return table.concat(list, " ")
end

function FlowNAPTLoadBalancer:kept_area(a, notes)
  servers.kept_area(self, a, notes)
  a.address, a.source, a.counts = self.addresses, self.sources, self.counts
  self.ports:kept_area(a)
end

function FlowNAPTLoadBalancer:kept_seen() self.ports:kept_seen() end
function FlowNAPTLoadBalancer:kept_done() self.ports:kept_done() end

--- A flow has ended.
function FlowNAPTLoadBalancer:flow_ended(area)
  self.ports:leave(area)
  balancer.leave(self, area.server, area)
end

function FlowNAPTLoadBalancer:make_process()
  local area_of, ends, pool = self.area_of, self.tuple, self.ports
  local watches = self.watches
  local addresses, sources = self.addresses, self.sources
  local tracks, track = self.tracks, balancer.track
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if not read_ends(p, ends) then return nil, NO_PORTS end
    if not pool:has(area, ends.tcp_flags) then
      local port, reason = begin(self, p, area)
      if not port then return nil, reason end
    end
    local server = area.server
    set_end(p, false, sources[server], swap16(area.port))
    set_address(p, true, addresses[server])
    p.note32[DST_IP] = addresses[server]
    if tracks then track(self, p, server, ends.tcp_flags, area) end
    if watches then pool:watch(area.port, FORWARD, ends.tcp_flags) end
    return p
  end
end

FlowNAPTLoadBalancer.handlers = {
  conn = {read = function (self) return self.counts.begun end},
  open = element.data("answered"),
}
for name, handler in pairs(balancer.handlers) do
  FlowNAPTLoadBalancer.handlers[name] = handler
end

-- FlowNAPTLoadBalancerReverse --------------------------------------------------------

local FlowNAPTLoadBalancerReverse = answers.define{
  name = "FlowNAPTLoadBalancerReverse", from_destination = true,
  summary = "brings answers back to FlowNAPTLoadBalancer's flows",
  arguments = {{"LB", "element", required = true, class = "FlowNAPTLoadBalancer"}},
  notes = "Only the server of a flow is let through. It sets the destination "
    .. "annotation, too.",
}

return {FlowNAPTLoadBalancer, FlowNAPTLoadBalancerReverse}
