-- SPDX-License-Identifier: Apache-2.0
-- A host made of Snabb's apps of the IP family, for test_fragments.py: it answers ARP,
-- neighbour solicitations and pings, in fragments.
-- Arguments: the port, the next hop's IPv4 address, the MTU.

local port_text, next_hop, mtu = ...
local ethernet = require("lib.protocol.ethernet")
local ipv4 = require("lib.protocol.ipv4")
local ipv6 = require("lib.protocol.ipv6")

local MAC = ethernet:pton("02:00:00:00:00:02")
local ADDRESS4, ADDRESS6 = ipv4:pton("10.0.0.2"), ipv6:pton("fd00::2")

local c = config.new()
local function app(name, module, class, arg)
  config.app(c, name, require(module)[class], arg)
end
app("nic", "apps.port.port", "Port", port_text)
app("whole4", "apps.ipv4.reassemble", "Reassembler", {})
app("whole6", "apps.ipv6.reassemble", "Reassembler", {})
app("arp", "apps.ipv4.arp", "ARP",
  {self_mac = MAC, self_ip = ADDRESS4, next_ip = ipv4:pton(next_hop)})
app("echo4", "apps.ipv4.echo", "ICMPEcho", {address = ADDRESS4})
app("nd", "apps.ipv6.ns_responder", "ns_responder",
  {local_ip = ADDRESS6, local_mac = MAC})
app("echo6", "apps.ipv6.echo", "ICMPEcho", {address = ADDRESS6})
app("cut4", "apps.ipv4.fragment", "Fragmenter", {mtu = tonumber(mtu)})
app("cut6", "apps.ipv6.fragment", "Fragmenter", {mtu = tonumber(mtu)})
app("sink", "apps.basic.basic_apps", "Sink")

for _, link_text in ipairs{
  "nic.output -> whole4.input", "whole4.output -> whole6.input",
  "whole6.output -> arp.south", "arp.north -> echo4.south",
  "echo4.north -> nd.south", "nd.north -> echo6.south", "echo6.north -> sink.input",
  "echo6.south -> nd.north", "nd.south -> echo4.north", "echo4.south -> arp.north",
  "arp.south -> cut4.input", "cut4.output -> cut6.input", "cut6.output -> nic.input",
} do config.link(c, link_text) end
engine.configure(c)
engine.main{duration = 60}
