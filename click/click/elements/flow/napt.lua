-- SPDX-License-Identifier: Apache-2.0
-- FlowNAPTLoadBalancer sends each flow to one of several servers, from an address that
-- goes with the server and a port of its own; FlowNAPTLoadBalancerReverse brings
-- answers back. Each is behind a flow manager.

local bit = require("bit")
local ffi = require("ffi")

local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local note = require("click.note")
local ports = require("click.flow.ports")
local state = require("click.flow.state")
local wire = require("click.net.wire")

local band = bit.band
local read_ends, set_end, set_address = C.pg_flow_ends, C.pg_flow_set_end,
  C.pg_flow_set_address
local swap16, DST_IP = wire.swap16, note.DST_IP
local FORWARD, REPLY = ports.FORWARD, ports.REPLY
local NO_FLOW, NO_PORTS, NOT_SYN, NONE_FREE = 1, 2, 3, 4
local NO_MAPPING = 3
local TCP, SYN = 6, 2

local arguments = {
  {"DST", "ip", required = true, list = true, each = true},
  {"SIP", "ip", required = true, list = true, each = true, keyword = true},
  {"STATE", "bool", default = true, keyword = true},
}
for _, more in ipairs(balancer.arguments) do arguments[#arguments + 1] = more end

local FlowNAPTLoadBalancer = element.define{
  name = "FlowNAPTLoadBalancer",
  summary = "sends each flow to one of several servers, from a port of its own",
  processing = "h/h", flow_state = ports.area, lengthens = 0, arguments = arguments,
  drops = {"no flow", "no ports", "flow doesn't begin with SYN", "no port is free"},
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
  if not balancer.configure(self, a, #a.DST) then return end
  self.addresses = ffi.new("uint32_t[?]", #a.DST)
  self.sources = ffi.new("uint32_t[?]", #a.DST)
  for i, address in ipairs(a.DST) do
    self.addresses[i - 1] = wire.number_of(address)
    self.sources[i - 1] = wire.number_of(a.SIP[i])
  end
  self.watches, self.ports = a.STATE, ports.new()
  self.ends = ffi.new("struct click_flow_ends")
  self.flows, self.answered = 0, 0
end

function FlowNAPTLoadBalancer:initialize()
  self.area_of = state.of(self)
  balancer.start(self)
end

-- The port for a new flow; or nil, and why there is none.
local function begin(self, p, area)
  local ends = self.ends
  if self.watches and ends.protocol == TCP and band(ends.tcp_flags, SYN) == 0 then
    return nil, NOT_SYN
  end
  local port, m = self.ports:take(area, ends)
  if not port then
    if not self.told then
      self:say("%s :: %s : Not even a used port available", self.name, self.class.name)
    end
    self.told = true
    return nil, NONE_FREE
  end
  area.server = self.choose(self, p, ends)
  m.destination, m.server = ends.destination, self.addresses[area.server]
  self.flows = self.flows + 1
  return port
end

--- A flow has ended.
function FlowNAPTLoadBalancer:flow_ended(area) self.ports:leave(area) end

function FlowNAPTLoadBalancer:make_process()
  local area_of, ends, pool, watches = self.area_of, self.ends, self.ports, self.watches
  local all, addresses, sources = pool.mappings, self.addresses, self.sources
  local tracks, track = self.tracks, balancer.track
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if not read_ends(p, ends) then return nil, NO_PORTS end
    local port = area.port
    local m = all[port]
    if port == 0 or m.made ~= area.made
      or m.used == 0 and band(ends.tcp_flags, SYN) ~= 0 then
      local reason
      port, reason = begin(self, p, area)
      if not port then return nil, reason end
    end
    local server = area.server
    set_end(p, false, sources[server], swap16(port))
    set_address(p, true, addresses[server])
    p.note32[DST_IP] = addresses[server]
    if tracks then track(self, p, server, ends.tcp_flags) end
    if watches then pool:watch(port, FORWARD, ends.tcp_flags) end
    return p
  end
end

FlowNAPTLoadBalancer.handlers = {
  conn = element.data("flows"), open = element.data("answered"),
}
for name, handler in pairs(balancer.handlers) do
  FlowNAPTLoadBalancer.handlers[name] = handler
end

-- FlowNAPTLoadBalancerReverse --------------------------------------------------------

local FlowNAPTLoadBalancerReverse = element.define{
  name = "FlowNAPTLoadBalancerReverse",
  summary = "brings answers back to FlowNAPTLoadBalancer's flows",
  processing = "h/h", flow_state = ports.area, lengthens = 0,
  drops = {"no flow", "no ports", "no mapping"},
  reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER"},
  arguments = {{"LB", "element", required = true, class = "FlowNAPTLoadBalancer"}},
  notes = "Only the server of a flow is let through. It sets the destination "
    .. "annotation, too.",
}

function FlowNAPTLoadBalancerReverse:configure(a) self.balancer = a.LB end

function FlowNAPTLoadBalancerReverse:initialize() self.area_of = state.of(self) end

--- A flow of answers has ended.
function FlowNAPTLoadBalancerReverse:flow_ended(area)
  self.balancer.ports:leave(area)
end

-- The port that a flow of answers goes to, if it comes from that port's server.
local function join(lb, area)
  local port = swap16(lb.ends.dport)
  local m = lb.ports.mappings[port]
  if m.server ~= lb.ends.source then return nil end
  local first = m.references == 1
  if not lb.ports:join(area, port) then return nil end
  if first then lb.answered = lb.answered + 1 end
  return port
end

function FlowNAPTLoadBalancerReverse:make_process()
  local area_of, lb = self.area_of, self.balancer
  local pool, ends, watches = lb.ports, lb.ends, lb.watches
  local all = pool.mappings
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if not read_ends(p, ends) then return nil, NO_PORTS end
    local port = area.port
    if port == 0 or all[port].made ~= area.made then port = join(lb, area) end
    if not port then return nil, NO_MAPPING end
    local m = all[port]
    set_address(p, false, m.destination)
    set_end(p, true, m.address, m.port)
    p.note32[DST_IP] = m.address
    if watches then pool:watch(port, REPLY, ends.tcp_flags) end
    return p
  end
end

return {FlowNAPTLoadBalancer, FlowNAPTLoadBalancerReverse}
