-- SPDX-License-Identifier: Apache-2.0
-- FlowIPLoadBalancer sends each flow to one of several servers, and
-- FlowIPLoadBalancerReverse has their answers come from the balancer's address. Only
-- addresses change.

local bit = require("bit")
local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local note = require("click.note")
local servers = require("click.flow.servers")

local band = bit.band
local read_ends, set_address = C.pg_flow_ends, C.pg_flow_set_address
local DST_IP, TCP, SYN = note.DST_IP, 6, 2
local NO_FLOW, NO_HEADER, NOT_SYN = 1, 2, 3

local FlowIPLoadBalancer = servers.attach(element.define{
  name = "FlowIPLoadBalancer", summary = "sends each flow to one of several servers",
  division = "flow",
  processing = "h/h", handlers = balancer.handlers,
  arguments = balancer.arguments{
    {"VIP", "ip", required = true, keyword = true},
    {"DST", "ip", required = true, list = true, each = true},
    {"VERBOSE", "int", default = 0, keyword = true},
    {"NONSYN", "bool", default = true, keyword = true},
  },
  drops = {"no flow", "no IPv4 header", "flow doesn't begin with SYN"}, lengthens = 0,
  reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  notes = balancer.notes,
  differs = "Checksums follow (FastClick leaves them as they were). Unknown "
    .. "modes are errors, and the last server isn't removed.",
})

function FlowIPLoadBalancer:configure(a)
  if not balancer.configure_ip(self, a) then return end
  self.verbose, self.only_syn = a.VERBOSE > 0, not a.NONSYN
  self:say("%s :: %s has %d routes", self.name, self.class.name, #a.DST)
end

-- The server for a new flow; nil: the packet is dropped.
local function begin(self, p, area)
  local ends = self.tuple
  if ends.protocol == TCP and band(ends.tcp_flags, SYN) == 0 then
    if self.verbose then self:say("Non syn establishment!") end
    if self.only_syn then return nil end
  end
  local server = self.choose(self, p, ends)
  area.server = server + 1
  if self.verbose then self:say("New flow %d", server) end
  return server
end

function FlowIPLoadBalancer:make_process()
  local area_of, ends, addresses = self.area_of, self.tuple, self.addresses
  local tracks, verbose, track = self.tracks, self.verbose, balancer.track
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    read_ends(p, ends)
    local server = area.server - 1
    if server < 0 then
      server = begin(self, p, area)
      if not server then return nil, NOT_SYN end
    end
    if verbose then self:say("Packet for flow %d", server) end
    local address = addresses[server]
    if not set_address(p, true, address) then return nil, NO_HEADER end
    p.note32[DST_IP] = address
    if tracks then track(self, p, server, ends.tcp_flags, area) end
    return p
  end
end

local FlowIPLoadBalancerReverse = element.define{
  name = "FlowIPLoadBalancerReverse", summary = "gives answers the balancer's address",
  division = "any",
  processing = "h/h", drops = {"no IPv4 header"}, lengthens = 0,
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER"},
  arguments = {{"LB", "element", required = true, class = "FlowIPLoadBalancer"}},
  differs = "Checksums follow.",
}

function FlowIPLoadBalancerReverse:configure(a) self.balancer = a.LB end

function FlowIPLoadBalancerReverse:process(p)
  if set_address(p, false, self.balancer.own_address) then return p end
  return nil, 1
end

return {FlowIPLoadBalancer, FlowIPLoadBalancerReverse}
