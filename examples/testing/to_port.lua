-- SPDX-License-Identifier: Apache-2.0
-- ToPort: passes UDP datagrams to one port on, and drops everything else by name.
-- Next to it stands its spec, as an example of how apps are tested (doc/apps.md).

local createStack = require("lib.stack").createStack

local asUdp = createStack("eth", "ip4", "udp")

local ToPort = {
  config = {port = {required = true}},
  drops = {"not_udp", "another_port"},
}
ToPort.__index = ToPort
local NOT_UDP, ANOTHER_PORT = 1, 2

function ToPort:new(arg) return setmetatable({port = arg.port}, self) end

function ToPort:process(p)
  local pkt = asUdp.check(p)
  if not pkt then return nil, NOT_UDP end
  if pkt.udp:getDstPort() ~= self.port then return nil, ANOTHER_PORT end
  return p
end

return {ToPort = ToPort}
