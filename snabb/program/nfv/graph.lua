-- SPDX-License-Identifier: Apache-2.0
-- The graph of a configuration: for each port a chain of apps between its guest and the
-- switch, as Snabb NFV has it, under the same names.
--
--     guest -> TxLimit -> Filter_out -> Tunnel -> ND -> Crypto -> switch
--     guest <- Filter_in <- Tunnel <- ND <- Crypto <- RxLimit <- switch

local config = require("core.config")
local esp = require("apps.ipsec.esp")
local file = require("program.nfv.file")
local nd_light = require("apps.ipv6.nd_light").nd_light
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter
local Port = require("apps.port.port").Port
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter
local Tunnel = require("apps.keyed_ipv6_tunnel.tunnel").SimpleKeyedTunnel
local VhostUser = require("apps.vhost.vhost_user").VhostUser
local VlanSwitch = require("apps.vlan_switch.vlan_switch").VlanSwitch

local graph = {}

local TRUNK = "trunk" -- the switch's link to the network

--- The name of the app that is the port to the network, if there is one.
graph.NIC = "NIC"

local BYTES_A_SECOND = 1e9 / 8 -- of 1 Gbit/s

-- A chain that grows from the guest towards the switch: `from` is where the guest's
-- packets come out, `to` where packets for it go in.
local Chain = {}
Chain.__index = Chain

function Chain:link(from, to) config.link(self.c, from .. " -> " .. to) end

function Chain:app(suffix, class, arg)
  local name = self.name .. suffix
  config.app(self.c, name, class, arg)
  return name
end

-- Put an app on the way from the guest (`outwards`), or to it.
function Chain:put(outwards, app, input, output)
  if outwards then
    self:link(self.from, app .. "." .. input)
    self.from = app .. "." .. output
  else
    self:link(app .. "." .. output, self.to)
    self.to = app .. "." .. input
  end
end

-- Put an app on both ways: what comes from the guest goes in at the link `inner`, and
-- out at `outer`.
function Chain:put_both(app, inner, outer)
  self:link(self.from, app .. "." .. inner)
  self:link(app .. "." .. inner, self.to)
  self.from, self.to = app .. "." .. outer, app .. "." .. outer
end

function Chain:limit(outwards, suffix, gbps)
  if not gbps then return end
  local rate = gbps * BYTES_A_SECOND
  local app = self:app(suffix, RateLimiter, {rate = rate, bucket_capacity = rate})
  self:put(outwards, app, "input", "output")
end

function Chain:filter(outwards, suffix, expression, stateful)
  if not expression then return end
  local app = self:app(suffix, PcapFilter, {filter = expression,
    state_table = stateful and self.name or nil})
  self:put(outwards, app, "input", "output")
end

function Chain:tunnel(t, mac)
  if not t then return end
  local app = self:app("_Tunnel", Tunnel, {
    local_address = t.local_ip, remote_address = t.remote_ip,
    local_cookie = t.local_cookie, remote_cookie = t.remote_cookie,
    local_session = t.session})
  self:put_both(app, "decapsulated", "encapsulated")
  local nd = self:app("_ND", nd_light, {local_mac = mac, local_ip = t.local_ip,
    next_hop = t.next_hop})
  self:put_both(nd, "north", "south")
end

function Chain:crypto(t)
  if not t then return end
  local app = self:app("_Crypto", esp.Transport6, {
    spi = t.spi, transmit_key = t.transmit_key, transmit_salt = t.transmit_salt,
    receive_key = t.receive_key, receive_salt = t.receive_salt, auditing = t.auditing})
  self:put_both(app, "decapsulated", "encapsulated")
end

local function add_port(c, port, guest)
  local chain = setmetatable({c = c, name = file.name_of(port)}, Chain)
  local virtio = chain:app("_Virtio", VhostUser, guest)
  chain.from, chain.to = virtio .. ".tx", virtio .. ".rx"
  chain:limit(true, "_TxLimit", port.tx_police)
  chain:filter(false, "_Filter_in", port.ingress_filter, port.stateful_filter)
  chain:filter(true, "_Filter_out", port.egress_filter, port.stateful_filter)
  chain:tunnel(port.tunnel, port.mac_address)
  chain:crypto(port.crypto)
  chain:limit(false, "_RxLimit", port.rx_police)
  chain:link(chain.from, "Switch." .. chain.name)
  chain:link("Switch." .. chain.name, chain.to)
end

local function add_switch(c, ports, trunk)
  local list = {}
  for i, port in ipairs(ports) do
    list[i] = {name = file.name_of(port), vlan = port.vlan, mac = port.mac_address}
  end
  config.app(c, "Switch", VlanSwitch, {ports = list, trunk = trunk})
end

--- The configuration for the ports (program.nfv.file). `nic`: the port to the network,
--- a port string, or nil if there is none. `socket_of(id)` is the path of a port's
--- socket,
--- and `serve` says whether we make it. `trunk`: apps {receive =, send =} in the place
--- of the port to the network: {name, class, arg} each, with links output and input.
function graph.of(ports, nic, socket_of, serve, trunk)
  local c = config.new()
  add_switch(c, ports, (nic or trunk) and TRUNK or nil)
  if nic then
    config.app(c, graph.NIC, Port, nic)
    trunk = {receive = {graph.NIC}, send = {graph.NIC}}
  elseif trunk then
    for _, app in pairs(trunk) do config.app(c, unpack(app)) end
  end
  if trunk then
    config.link(c, ("%s.output -> Switch.%s"):format(trunk.receive[1], TRUNK))
    config.link(c, ("Switch.%s -> %s.input"):format(TRUNK, trunk.send[1]))
  end
  for _, port in ipairs(ports) do
    add_port(c, port, {socket_path = socket_of(port.port_id), is_server = serve,
      queues = port.queues})
  end
  return c
end

return graph
