-- SPDX-License-Identifier: Apache-2.0
-- For test_doctor_apps.py: graphs that between them hold every app of Perigee.
-- Arguments: a graph's name, and what it needs (files, interfaces).

local basic = require("apps.basic.basic_apps")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port

local graphs = {}

-- Frames whose bytes vary: IPv4 with a good checksum but for some, others, short ones.
local Frames = {}
Frames.__index = Frames

local function frame(i)
  local p = packet.resize(packet.allocate(), i % 17 == 0 and 20 or 60 + i * 37 % 900)
  if p.length < 34 then return p end
  local d, sum = p.data, 0
  d[12], d[13] = 8, i % 19 == 0 and 6 or 0
  d[14], d[16], d[17] = 0x45, math.floor((p.length - 14) / 256), (p.length - 14) % 256
  d[22], d[23] = i % 13 == 0 and 1 or 64, 17
  d[30], d[31], d[33] = i % 11 == 0 and 11 or 10, i % 4, i % 256
  for at = 14, 32, 2 do sum = sum + d[at] * 256 + d[at + 1] end
  sum = 0xffff - (sum % 0x10000 + math.floor(sum / 0x10000))
  if i % 23 > 0 then d[24], d[25] = math.floor(sum / 256), sum % 256 end
  return p
end

function Frames:new()
  local packets = {}
  for i = 1, 1000 do packets[i] = frame(i) end
  return setmetatable({packets = packets, at = 0}, self)
end

local function emit(output, packets, at, n)
  for _ = 1, n do
    at = at < #packets and at + 1 or 1
    link.transmit(output, packet.clone(packets[at]))
  end
  return at
end

function Frames:pull()
  local output = self.output.output
  self.at = emit(output, self.packets, self.at, math.min(100, link.nwritable(output)))
end

-- A few packets, once.
local Once = {}
Once.__index = Once

function Once:new() return setmetatable({left = 5}, Once) end

function Once:pull()
  for _ = 1, self.left do
    link.transmit(self.output.output, packet.from_string(("x"):rep(60)))
  end
  self.left = 0
end

local function run(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links) do config.link(c, spec) end
  engine.configure(c)
  engine.busywait = true
  engine.main{}
end

-- Of a class of ports: what comes from `there` goes back to it.
local function echo(class, arg)
  run({nic = {class, arg}, fwd = {Fwd}}, {"nic.output -> fwd.input",
                                          "fwd.output -> nic.input"})
end

function graphs.basic()
  run({source = {basic.Source}, tee = {basic.Tee}, split = {basic.Split},
       join = {basic.Join}, truncate = {basic.Truncate, 100},
       sample = {basic.Sample, 3}, sink = {basic.Sink}, lone = {basic.Sink}},
    {"source.output -> tee.input", "source.o2 -> tee.i2", "tee.a -> split.input",
     "tee.b -> truncate.input", "tee.c -> split.i2", "split.a -> join.a",
     "split.b -> join.b", "truncate.output -> sample.input", "sample.output -> sink.x",
     "join.output -> sink.y", "source.o3 -> lone.input"})
end

function graphs.repeater()
  run({once = {Once}, again = {basic.Repeater}, sink = {basic.Sink}},
    {"once.output -> again.input", "again.output -> sink.input"})
end

-- Apps without outputs, whose packets go nowhere.
function graphs.ends()
  run({source = {basic.Source}, tee = {basic.Tee}, split = {basic.Split},
       join = {basic.Join}, fwd = {Fwd}},
    {"source.a -> tee.input", "source.b -> split.input", "source.c -> join.input",
     "source.d -> fwd.input", "source.e -> join.i2"})
end

function graphs.fwd()
  run({nic = {Port, "null"}, a = {Fwd}, b = {Fwd}, sink = {basic.Sink}},
    {"nic.output -> a.input", "a.output -> b.input", "b.output -> sink.input"})
end

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

function graphs.reader(file)
  run({from = {require("apps.pcap.pcap").PcapReader, file}, sink = {basic.Sink}},
    {"from.output -> sink.input"})
end

function graphs.replayer(file, key, value)
  local arg = {filename = file, loops = math.huge, [key] = tonumber(value)}
  run({from = {require("apps.pcap.replayer").Replayer, arg}, sink = {basic.Sink}},
    {"from.output -> sink.input"})
end

function graphs.writer(format)
  local arg = {"/dev/null", "w", format = format}
  run({nic = {Port, "null:size=200"}, to = {require("apps.pcap.pcap").PcapWriter, arg}},
    {"nic.output -> to.input"})
end

function graphs.port(arg) echo(Port, arg) end

function graphs.ring()
  run({frames = {Frames}, one = {Port, "ring:doctor"}, two = {Port, "ring:doctor"},
       sink = {basic.Sink}},
    {"frames.output -> one.input", "two.output -> sink.input"})
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

-- Classes by Snabb's names of drivers, with a null port in the card's place.
function graphs.card(module, class, arg)
  echo(require(module)[class], loadstring("return " .. arg)())
end

function graphs.loadgen(address)
  run({once = {Once}, fwd = {Fwd},
       gen = {require("apps.intel_mp.loadgen").LoadGen, address}},
    {"once.output -> fwd.input", "fwd.output -> gen.input"})
end

-- Frames out by one kernel interface, in by another.
function graphs.wire(module, class, from, to)
  local kind = require(module)[class]
  run({frames = {Frames}, from = {kind, loadstring("return " .. from)()},
       to = {kind, loadstring("return " .. to)()}, sink = {basic.Sink}},
    {"frames.output -> from.input", "to.output -> sink.input"})
end

function graphs.tap()
  run({frames = {Frames}, tap = {require("apps.tap.tap").Tap, "t0"}},
    {"frames.output -> tap.input"})
end

-- Of apps.ipv4 or apps.ipv6: cut, put together, looked at.
function graphs.fragments(version, mtu)
  local apps = "apps." .. version
  run({frames = {Frames}, cut = {require(apps .. ".fragment").Fragmenter, {mtu = mtu}},
       whole = {require(apps .. ".reassemble").Reassembler, {}},
       echo = {require(apps .. ".echo").ICMPEcho, {}}, sink = {basic.Sink}},
    {"frames.output -> cut.input", "cut.output -> whole.input",
     "whole.output -> echo.south", "echo.north -> sink.input"})
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

graphs[...](select(2, ...))
