-- SPDX-License-Identifier: Apache-2.0
-- ns_responder: answers neighbour solicitations (RFC 4861) of one address, between a
-- port in the south and whatever else is in the north.

local arguments = require("core.lib.arguments")
local arp = require("net.neighbor.arp")
local counter = require("core.counter")
local failure = require("core.failure")
local link = require("core.link")
local nd = require("net.neighbor.nd")
local packet = require("core.packet")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local ns_responder = {
  argument = "table",
  shm = {drop_ns_invalid = {counter}, drop_ns_target = {counter}, out_na = {counter}},
}
ns_responder.__index = ns_responder
ns_responder.reconfig_keeps = {}

--- ns_responder{local_ip=, local_mac=}: the address (16 bytes) and where it is (6).
function ns_responder:new(arg)
  arp.check_own("ns_responder", arg.local_mac)
  local problem = arguments.problem("local_ip", "ip6", arg.local_ip)
  if problem then failure.usage("ns_responder: %s", problem) end
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

local function from_south(self, input, north, south, n)
  for _ = 1, n do
    local p = receive(input)
    if nd.kind(p.data, p.length) == nd.SOLICITATION then
      listen(self, p.data, south)
      packet.free(p)
    else
      transmit(north, p)
    end
  end
end

local function pass(input, output, n)
  for _ = 1, n do transmit(output, receive(input)) end
end

ns_responder.needs_packets = true

function ns_responder:push()
  local input, output = self.input, self.output
  if input.north and output.south then
    pass(input.north, output.south, nreadable(input.north))
  end
  if input.south then
    from_south(self, input.south, output.north, output.south, nreadable(input.south))
  end
end

return {ns_responder = ns_responder}
