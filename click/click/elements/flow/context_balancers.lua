-- SPDX-License-Identifier: Apache-2.0
-- CTXIPLoadBalancer sends flows to servers in turn; CTXIPLoadBalancerReverse gives what
-- the servers answer one address. Only addresses change.

local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local note = require("click.note")
local servers = require("click.flow.servers")
local wire = require("click.net.wire")

local set_address = C.pg_flow_set_address
local DST_IP = note.DST_IP
local NO_FLOW, NO_HEADER = 1, 2
local HEADERS = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER"}

local CTXIPLoadBalancer = servers.attach(element.define{
  name = "CTXIPLoadBalancer", summary = "sends flows to servers in turn",
  division = "flow", processing = "h/h", lengthens = 0, reads = HEADERS,
  drops = {"no flow", "no IPv4 header"},
  arguments = {{"DST", "ip", required = true, list = true, each = true}},
  notes = "Behind a flow manager (CTXManager). The server's address is the packet's "
    .. "new destination, and its destination annotation.",
})

function CTXIPLoadBalancer:configure(a)
  balancer.configure_ip(self, {DST = a.DST, LB_MODE = "rr", LST_MODE = "conn",
    NSERVER = 0, AWRR_ALPHA = 0, AWRR_TIME = 100})
  self:say("%s :: %s has %d routes", self.name, self.class.name, #a.DST)
end

function CTXIPLoadBalancer:make_process()
  local area_of, addresses = self.area_of, self.addresses
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if area.server == 0 then area.server = self.choose(self) + 1 end
    local address = addresses[area.server - 1]
    if not set_address(p, true, address) then return nil, NO_HEADER end
    p.note32[DST_IP] = address
    return p
  end
end

local CTXIPLoadBalancerReverse = element.define{
  name = "CTXIPLoadBalancerReverse", summary = "sets the source address of answers",
  division = "any", processing = "h/h", lengthens = 0, reads = HEADERS,
  drops = {"no IPv4 header"}, arguments = {{"IP", "ip", default = 0}},
}

function CTXIPLoadBalancerReverse:configure(a)
  self.address = wire.number_of(a.IP)
end

function CTXIPLoadBalancerReverse:process(p)
  if set_address(p, false, self.address) then return p end
  return nil, 1
end

return {CTXIPLoadBalancer, CTXIPLoadBalancerReverse}
