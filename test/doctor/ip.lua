-- SPDX-License-Identifier: Apache-2.0
-- Graphs of apps that look into headers.

local ffi = require("ffi")
local basic = require("apps.basic.basic_apps")
local ethernet = require("lib.protocol.ethernet")
local ipv6 = require("lib.protocol.ipv6")
local Port = require("apps.port.port").Port
local run = require("doctor.run")
local traffic = require("doctor.traffic")

local Frames = traffic.Frames
local graphs = {}
local own = {ipv4 = ffi.new("uint8_t[4]", {10, 0, 0, 9}), ipv6 = ipv6:pton("fd00::9")}

function graphs.ip()
  local Check = require("apps.ip.check_header.check_header").CheckHeader
  local Dec = require("apps.ip.dec_ttl.dec_ttl").DecTtl
  local Fib = require("apps.ip.fib_lookup.fib_lookup").FibLookup
  local Macs = require("apps.ip.rewrite_macs.rewrite_macs").RewriteMacs
  local mac = "02:00:00:00:00:01"
  run({frames = {Frames}, check = {Check}, ttl = {Dec}, out = {Port, "null"},
       fib = {Fib, {routes = {["10.0.0.0/16"] = 1, ["10.1.0.0/16"] = 2,
                              ["10.2.0.0/16"] = 3}}},
       macs = {Macs, {{destination = mac, source = mac},
                      {destination = mac, source = mac}}}},
    {"frames.output -> check.input", "check.output -> fib.input",
     "fib.output -> ttl.input", "ttl.output -> macs.input",
     "macs.output -> out.input"})
end

function graphs.rss()
  local rss = require("apps.rss.rss").rss
  run({frames = {Frames}, sink = {basic.Sink},
       rss = {rss, {classes = {
         {name = "all", filter = "ip", continue = true},
         {name = "some", filter = "VLAN 0 BPF net 10.1.0.0/16"}}}}},
    {"frames.output -> rss.input", "rss.all_1 -> sink.a", "rss.all_2 -> sink.b",
     "rss.some_1 -> sink.c", "rss.default_1 -> sink.d"})
end

function graphs.packet_filter()
  local Filter = require("apps.packet_filter.pcap_filter").PcapFilter
  run({frames = {Frames}, net = {Filter, {filter = "not net 10.1.0.0/16"}},
       known = {Filter, {filter = "src net 11.0.0.0/8", state_table = "doctor"}},
       tap = {require("apps.pcap.tap").Tap, {filename = "/dev/null", filter = "ip"}},
       sink = {basic.Sink}},
    {"frames.output -> net.input", "net.output -> known.input",
     "known.output -> tap.input", "tap.output -> sink.input"})
end

-- Of apps.ipv4 or apps.ipv6: cut, put together, and answered if it is a ping to us.
function graphs.fragments(version, mtu)
  local apps = "apps." .. version
  run({frames = {Frames}, cut = {require(apps .. ".fragment").Fragmenter, {mtu = mtu}},
       whole = {require(apps .. ".reassemble").Reassembler, {}},
       echo = {require(apps .. ".echo").ICMPEcho, {address = own[version]}},
       sink = {basic.Sink}},
    {"frames.output -> cut.input", "cut.output -> whole.input",
     "whole.output -> echo.south", "echo.north -> sink.north",
     "echo.south -> sink.south"})
end

-- What finds neighbours, between a port whose traffic has requests too, and a router.
local function neighbours(class, arg)
  run({wire = {Frames, traffic.mixed(true)}, router = {Frames}, app = {class, arg},
       sink = {basic.Sink}},
    {"wire.output -> app.south", "app.south -> sink.south",
     "router.output -> app.north", "app.north -> sink.north"})
end

local other_mac, mac = "02:00:00:00:00:07", "02:00:00:00:00:02"

function graphs.arp()
  neighbours(require("apps.ipv4.arp").ARP, {self_ip = own.ipv4,
    self_mac = ethernet:pton(mac), next_mac = ethernet:pton(other_mac)})
end

function graphs.nd_light()
  neighbours(require("apps.ipv6.nd_light").nd_light, {local_mac = mac,
    remote_mac = other_mac, local_ip = "fd00::9", next_hop = "fd00::1", quiet = true})
end

function graphs.ns_responder()
  neighbours(require("apps.ipv6.ns_responder").ns_responder,
    {local_ip = own.ipv6, local_mac = ethernet:pton(mac)})
end

function graphs.vlan()
  local vlan = require("apps.vlan.vlan")
  run({frames = {Frames}, on = {vlan.Tagger, {tag = 7}}, mux = {vlan.VlanMux},
       again = {vlan.Tagger, {tag = 8}}, off = {vlan.Untagger, {tag = 8}},
       sink = {basic.Sink}},
    {"frames.output -> on.input", "on.output -> mux.trunk", "mux.vlan7 -> again.input",
     "again.output -> off.input", "off.output -> sink.input"})
end

function graphs.keyed_ipv6_tunnel()
  local Tunnel = require("apps.keyed_ipv6_tunnel.tunnel").SimpleKeyedTunnel
  run({frames = {Frames}, sink = {basic.Sink}, tunnel = {Tunnel, {
         local_address = "fd00::1", remote_address = "fd00::1",
         local_cookie = "0102030405060708", remote_cookie = "0102030405060708"}}},
    {"frames.output -> tunnel.decapsulated", "tunnel.decapsulated -> sink.input",
     "tunnel.encapsulated -> tunnel.encapsulated"})
end

-- Both ends in one.
function graphs.ipsec()
  local Tunnel6 = require("apps.ipsec.esp").Tunnel6
  local key, salt = ("5a"):rep(16), "00000001"
  run({frames = {Frames}, sink = {basic.Sink}, esp = {Tunnel6, {
         self_ip = "fd00::1", nexthop_ip = "fd00::1", spi = 1, transmit_key = key,
         receive_key = key, transmit_salt = salt, receive_salt = salt,
         selftest = true}}},
    {"frames.output -> esp.decapsulated", "esp.decapsulated -> sink.input",
     "esp.encapsulated -> esp.encapsulated"})
end

return graphs
