-- SPDX-License-Identifier: Apache-2.0
-- A bridge that sends every packet to all ports where it may go.

local ffi = require("ffi")
local C = require("core.native")
local base = require("apps.bridge.base").bridge
local class = require("lib.lua.class")
local replicate = require("apps.bridge.replicate")

local bridge = class.subClass(base)
bridge._name = "flooding bridge"
bridge.reconfig_keeps = {}

local BURST = C.PORT_BURST
local packets = ffi.new("struct packet *[?]", BURST)

function bridge:new(conf)
  return bridge:superClass().new(self, conf)
end

local function flood(input, ports, to)
  local n = C.pg_take_counted(input, packets, BURST)
  while n > 0 do
    replicate(packets, n, ports, to)
    n = C.pg_take_counted(input, packets, BURST)
  end
end

bridge.needs_packets = true

function bridge:push()
  local ports, destinations = self._ports, self._dst_ports
  for i = 1, #ports do
    local input = ports[i].l_in
    if input then flood(input, ports, destinations[i]) end
  end
end

return {bridge = bridge}
