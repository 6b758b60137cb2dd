-- SPDX-License-Identifier: Apache-2.0
-- A bridge that learns at which port an address is, from the packets it sends, and
-- sends packets for it to that port only (snabb/apps/bridge/bridge.c); others, and
-- those for group addresses, to all ports where they may go.

local ffi = require("ffi")
local C = require("core.declare")("apps/bridge/bridge.h")
local base = require("apps.bridge.base").bridge
local class = require("lib.lua.class")
local counter = require("core.counter")
local engine = require("core.app")
local mac_table = require("apps.bridge.mac_table")
local packet = require("core.packet")
local pool = require("core.pool")
local replicate = require("apps.bridge.replicate")

local BURST = C.PORT_BURST

local bridge = class.subClass(base)
bridge._name = "learning bridge"

--- `conf.config.mac_table`: the argument of apps.bridge.mac_table.
function bridge:new(conf)
  local o = bridge:superClass().new(self, conf)
  local c = ffi.new("struct bridge")
  o._c = c
  o._mac_table = mac_table:new((conf.config or {}).mac_table, c.table)
  o._out = ffi.new("struct link *[?]", #o._ports + 1)
  c.out = o._out
  for _, port in ipairs(o._ports) do
    port.place = o._mac_table:place(port.handle, port.group)
  end
  o.shm = {flooded = {counter}, discarded = {counter}}
  return o
end

--- Addresses stay with the ports that there still are, as far as there is room.
function bridge.reconfig_keeps(fresh, running)
  local box = ffi.new("uint8_t *[1]")
  for mac, number in running._mac_table:iterator() do
    local port = fresh._ports[running._ports[number].name]
    box[0] = mac
    if port then fresh._mac_table:insert(box, port.handle, port.group) end
  end
end

--- For net.keep: addresses, at ports that there still are.
function bridge:kept_state()
  local places, name = {}, {}
  for i, port in ipairs(self._ports) do
    name[i], places[i] = tostring(port.name), port.place
  end
  return {self._mac_table:kept_state(name, places)}
end

function bridge:link()
  bridge:superClass().link(self)
  for i, port in ipairs(self._ports) do self._out[i] = port.l_out end
end

local function discard(packets, n)
  for i = 0, n - 1 do packet.free(packets[i]) end
end

local function forward(self, port, to)
  local c, ports = self._c, self._ports
  local n
  repeat
    n = C.pg_bridge(c, pool.freelist, port.l_in, port.place)
    if c.floods > 0 then
      counter.add(self.shm.flooded, c.floods)
      replicate(c.flood, c.floods, ports, to)
    end
    if c.discards > 0 then
      counter.add(self.shm.discarded, c.discards)
      discard(c.discard, c.discards)
    end
  until n < BURST
end

bridge.needs_packets = true

function bridge:push()
  local ports, destinations = self._ports, self._dst_ports
  self._c.table.fdb.now = engine.now()
  for i = 1, #ports do
    if ports[i].l_in then forward(self, ports[i], destinations[i]) end
  end
end

function bridge:stop()
  self._mac_table:stop()
end

return {bridge = bridge}
