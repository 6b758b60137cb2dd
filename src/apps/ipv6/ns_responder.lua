-- SPDX-License-Identifier: Apache-2.0
-- ns_responder: answers neighbour solicitations (RFC 4861) of one address, between a
-- port in the south and whatever else is in the north.

local arguments = require("core.lib.arguments")
local arp = require("net.neighbor.arp")
local counter = require("core.counter")
local nd = require("net.neighbor.nd")
local packet = require("core.packet")
local loops = require("net.ip.loops")
local transmit = require("core.link").transmit

local ns_responder = {
  argument = "table",
  shm = {drop_ns_invalid = {counter}, drop_ns_target = {counter}, out_na = {counter}},
}
ns_responder.__index = ns_responder
ns_responder.reconfig_keeps = {}

--- ns_responder{local_ip=, local_mac=}: the address (16 bytes) and where it is (6).
function ns_responder:new(arg)
  arp.check_own("ns_responder", arg.local_mac)
  arguments.check("ns_responder: local_ip", "ip6", arg.local_ip)
  return setmetatable({local_ip = arg.local_ip, local_mac = arg.local_mac},
    ns_responder)
end

-- A solicitation, which stays the caller's.
local function listen(self, data, south)
  local at = nd.read(data, nd.SOLICITATION)
  if not at or at == nd.SOURCE_MAC then -- Snabb's wants the option
    counter.add(self.shm.drop_ns_invalid)
  elseif not nd.is_about(data, self.local_ip) then
    counter.add(self.shm.drop_ns_target)
  else
    counter.add(self.shm.out_na)
    transmit(south, nd.advertisement(self.local_mac, self.local_ip, data, 0))
  end
end

ns_responder.needs_packets = true
ns_responder.push = loops.from_south(function (self, p, south)
  if nd.kind(p.data, p.length) ~= nd.SOLICITATION then return false end
  listen(self, p.data, south)
  packet.free(p)
  return true
end)

return {ns_responder = ns_responder}
