-- SPDX-License-Identifier: Apache-2.0
-- Load balancers that send packets to a server's IP address or Ethernet address. Those
-- without a flow manager choose for each packet, FlowL2LoadBalancer for each flow.

local ffi = require("ffi")

local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local FlowIPLoadBalancerReverse = require("click.elements.flow.balancers")[2]
local note = require("click.note")
local servers = require("click.flow.servers")

local copy = ffi.copy
local read_ends, set_address = C.pg_flow_ends, C.pg_flow_set_address
local DST_IP, ADDRESS = note.DST_IP, 6
local PER_PACKET = "With LB_MODE hash, hash_crc, hash_ip or chash all packets of a "
  .. "flow go to one server, as long as servers stay the same. "

local function say_servers(self, n)
  self:say("%s :: %s has %d routes", self.name, self.class.name, n)
end

-- IPLoadBalancer ---------------------------------------------------------------------

local IPLoadBalancer = element.define{
  name = "IPLoadBalancer", summary = "sends each packet to one of several servers",
  division = "any",
  processing = "h/h", drops = {"no IPv4 header"}, lengthens = 0,
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  arguments = balancer.arguments{
    {"DST", "ip", required = true, list = true, each = true},
    {"VIP", "ip", required = true, keyword = true},
  },
  handlers = balancer.handlers, notes = PER_PACKET .. balancer.notes,
  differs = "Checksums follow (FastClick leaves them as they were). Unknown modes are "
    .. "errors, and the last server isn't removed.",
}

function IPLoadBalancer:configure(a)
  if balancer.configure_ip(self, a) then say_servers(self, #a.DST) end
end

IPLoadBalancer.initialize = balancer.start

function IPLoadBalancer:make_process()
  local ends, addresses, tracks, track = self.tuple, self.addresses, self.tracks,
    balancer.track
  return function (_, p)
    read_ends(p, ends)
    local server = self.choose(self, p, ends)
    local address = addresses[server]
    if not set_address(p, true, address) then return nil, 1 end
    p.note32[DST_IP] = address
    if tracks then track(self, p, server, ends.tcp_flags) end
    return p
  end
end

local IPLoadBalancerReverse = element.define{
  name = "IPLoadBalancerReverse", extends = FlowIPLoadBalancerReverse,
  arguments = {{"LB", "element", required = true, class = "IPLoadBalancer"}},
}

-- L2LoadBalancer ---------------------------------------------------------------------

local L2 = {
  arguments = balancer.arguments{
    {"DST", "eth", required = true, list = true, each = true},
  },
  notes = "A packet begins with its Ethernet header. " .. PER_PACKET .. balancer.notes,
  differs = "It has FlowIPLoadBalancer's handlers. Unknown modes are errors.",
}

local function configure_l2(self, a)
  if not balancer.configure(self, a, #a.DST) then return end
  self.addresses = ffi.new("uint8_t[?][6]", #a.DST)
  for i, address in ipairs(a.DST) do copy(self.addresses[i - 1], address, ADDRESS) end
  say_servers(self, #a.DST)
end

local L2LoadBalancer = element.define{
  name = "L2LoadBalancer", summary = "sends each packet to one of several stations",
  division = "any",
  processing = "h/h", drops = {"too short"}, lengthens = 0,
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  arguments = L2.arguments, handlers = balancer.handlers, notes = L2.notes,
  differs = L2.differs, configure = configure_l2, initialize = balancer.start,
}

function L2LoadBalancer:make_process()
  local ends, addresses, tracks, track = self.tuple, self.addresses, self.tracks,
    balancer.track
  return function (_, p)
    if p.length < ADDRESS then return nil, 1 end
    read_ends(p, ends)
    local server = self.choose(self, p, ends)
    copy(p.data, addresses[server], ADDRESS)
    if tracks then track(self, p, server, ends.tcp_flags) end
    return p
  end
end

local FlowL2LoadBalancer = servers.attach(element.define{
  name = "FlowL2LoadBalancer", summary = "sends each flow to one of several stations",
  division = "flow",
  processing = "h/h", drops = {"no flow", "too short"}, lengthens = 0,
  reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  arguments = L2.arguments, handlers = balancer.handlers,
  notes = "A packet begins with its Ethernet header. " .. balancer.notes,
  differs = "LB_MODE and its relatives are read (FastClick refuses them).",
  configure = configure_l2,
})

function FlowL2LoadBalancer:make_process()
  local area_of, ends, addresses = self.area_of, self.tuple, self.addresses
  local tracks, track = self.tracks, balancer.track
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, 1 end
    if p.length < ADDRESS then return nil, 2 end
    if area.server == 0 or tracks then read_ends(p, ends) end
    if area.server == 0 then area.server = self.choose(self, p, ends) + 1 end
    local server = area.server - 1
    copy(p.data, addresses[server], ADDRESS)
    if tracks then track(self, p, server, ends.tcp_flags, area) end
    return p
  end
end

return {IPLoadBalancer, IPLoadBalancerReverse, L2LoadBalancer, FlowL2LoadBalancer}
