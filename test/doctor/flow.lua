-- SPDX-License-Identifier: Apache-2.0
-- Graphs of apps that make, spread and limit traffic.

local basic = require("apps.basic.basic_apps")
local run = require("doctor.run")
local traffic = require("doctor.traffic")

local Frames = traffic.Frames
local graphs = {}

-- Hosts at all ports, who send to each other and to nobody.
function graphs.bridge(kind)
  local bridge = require("apps.bridge." .. kind).bridge
  local Synth = require("apps.test.synth").Synth
  local apps = {bridge = {bridge, {ports = {"a", "b"},
    split_horizon_groups = {group = {"c", "d"}}}}, sink = {basic.Sink}}
  local links = {}
  for i, port in ipairs{"a", "b", "c", "d"} do
    apps["host_" .. port] = {Synth, {src = "02:00:00:00:00:0" .. i,
      dst = "02:00:00:00:00:0" .. i + 1}}
    links[#links + 1] = ("host_%s.output -> bridge.%s"):format(port, port)
    links[#links + 1] = ("bridge.%s -> sink.%s"):format(port, port)
  end
  run(apps, links)
end

function graphs.interlink()
  local queue = {queue = "doctor"}
  run({frames = {Frames}, to = {require("apps.interlink.transmitter"), queue},
       from = {require("apps.interlink.receiver"), queue}, sink = {basic.Sink}},
    {"frames.output -> to.input", "from.output -> sink.input"})
end

function graphs.rate_limiter()
  local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter
  run({frames = {Frames}, limit = {RateLimiter, {rate = 1e9, bucket_capacity = 1e6}},
       sink = {basic.Sink}}, {"frames.output -> limit.input",
                              "limit.output -> sink.input"})
end

function graphs.rewrite()
  local Rewriter = require("apps.rewrite.rewriter").Rewriter
  run({frames = {Frames}, rewrite = {Rewriter, {vlan = "add:100"}},
       sink = {basic.Sink}}, {"frames.output -> rewrite.input",
                              "rewrite.output -> sink.input"})
end

function graphs.record()
  local Recorder = require("apps.record.recorder").Recorder
  run({frames = {Frames}, recorder = {Recorder, {inputs = {"a"}, memory = 2^20}}},
    {"frames.output -> recorder.a"})
end

function graphs.synth()
  local Synth = require("apps.test.synth").Synth
  run({a = {Synth, {sizes = {64, 590, 1514}, packet_id = true}}, b = {Synth, {}},
       sink = {basic.Sink}}, {"a.output -> sink.a", "b.output -> sink.b"})
end

function graphs.generate()
  run({from = {require("apps.generate.generator").Generator,
               {set = {"ip4Src=10.0.0.1..10.0.0.99", "udpDst=random"}, size = "imix"}},
       to = {require("apps.generate.meter").Meter, {stack = "eth,ip4,udp"}}},
    {"from.output -> to.input"})
end

-- Two hosts of a VLAN, and the network.
function graphs.vlan_switch()
  local Synth = require("apps.test.synth").Synth
  local VlanSwitch = require("apps.vlan_switch.vlan_switch").VlanSwitch
  local a, b = "02:00:00:00:00:01", "02:00:00:00:00:02"
  run({frames = {Frames}, a = {Synth, {src = a, dst = b}}, sink = {basic.Sink},
       switch = {VlanSwitch, {trunk = "net", ports = {
         {name = "a", vlan = 7, mac = a}, {name = "b", vlan = 7, mac = b}}}}},
    {"frames.output -> switch.net", "a.output -> switch.a", "switch.a -> sink.a",
     "switch.b -> sink.b", "switch.net -> sink.net"})
end

return graphs
