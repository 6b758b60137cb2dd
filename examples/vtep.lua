-- SPDX-License-Identifier: Apache-2.0
-- perigee run examples/vtep.lua [SECONDS] [SIZE]: what do the apps of a VXLAN tunnel
-- end point cost? Cycles a packet of encapsulation and decapsulation of frames of SIZE
-- bytes (60), each against passing the same packets on, measured in turn.

local C = require("core.native")
local Decap = require("apps.vtep.decap").Decap
local Encap = require("apps.vtep.encap").Encap
local Fwd = require("apps.fwd.fwd").Fwd
local Host = require("apps.vtep.host").Host
local Ingress = require("apps.vtep.ingress").Ingress
local Port = require("apps.port.port").Port
local Tunnel = require("apps.vtep.tunnel")
local createStack = require("lib.stack").createStack
local failure = require("core.failure")

local FLOWS, STATIONS = 256, 64
local BEFORE_S = 0.2 -- for LuaJIT to compile it
local TURNS = 3

local seconds, size = tonumber((...) or 0.5), tonumber(select(2, ...) or 60)
if not seconds or not size or size < 60 or size > 1464 then
  failure.usage("give seconds and a size from 60 to 1464: perigee run "
    .. "examples/vtep.lua 0.5 60")
end

-- One end of a tunnel: number 1 or 2. The stations of the other end are known.
local function tunnel(own, other)
  local static = {}
  for n = 1, STATIONS do
    static[n] = {vni = 42, mac = ("02:00:00:00:%02x:%02x"):format(other, n),
                 remote = "192.0.2." .. other}
  end
  return Tunnel.new{
    address = ("192.0.2.%d/24"):format(own), mac = "02:00:00:00:00:0" .. own,
    vnis = {[42] = 0}, static = static, remotes = {{
      address = "192.0.2." .. other, mac = "02:00:00:00:00:0" .. other}},
  }
end

-- A chain of apps between two ports, by name; `others` are apps without links.
local function graph(from, to, chain, others)
  local c, last = config.new(), "from"
  config.app(c, "from", Port, from)
  for i, item in ipairs(chain) do
    config.app(c, "app" .. i, item[1], item[2])
    config.link(c, ("%s.output -> app%d.input"):format(last, i))
    last = "app" .. i
  end
  config.app(c, "to", Port, to)
  config.link(c, last .. ".output -> to.input")
  for i, item in ipairs(others or {}) do
    config.app(c, "other" .. i, item[1], item[2])
  end
  return c
end

-- FLOWS frames from the stations of one end to those of the other, in a file.
local Source = {}

function Source:new() return setmetatable({n = 0}, {__index = self}) end

function Source:pull()
  local as_udp = createStack("eth", "ip4", "udp")
  for n = self.n + 1, FLOWS do
    local pkt = as_udp(packet.allocate())
    pkt:fill{ethSrc = ("02:00:00:00:01:%02x"):format(n % STATIONS + 1),
             ethDst = ("02:00:00:00:02:%02x"):format(n % STATIONS + 1),
             ip4Src = "10.0.0.1", ip4Dst = "10.0.0.2", udpSrc = 1024 + n,
             pktLength = size}
    link.transmit(self.output.output, pkt.packet)
  end
  self.n = FLOWS
end

local function write_frames(file)
  local c = config.new()
  config.app(c, "source", Source)
  config.app(c, "file", Port, "pcap:tx=" .. file)
  config.link(c, "source.output -> file.input")
  engine.configure(c)
  for _ = 1, 3 do engine.breathe() end
end

local function encapsulate(from, to, chain)
  engine.configure(graph("pcap:rx=" .. from, "pcap:tx=" .. to, chain))
  for _ = 1, 5 do engine.breathe() end
end

local function cycles(c)
  engine.configure(c)
  engine.busywait = true
  engine.main{duration = BEFORE_S, no_report = true}
  local port = engine.app_table.to
  local cpu, packets = C.pg_cpu_seconds(), port:statistics().opackets
  engine.main{duration = seconds, no_report = true}
  return (C.pg_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz())
    / (port:statistics().opackets - packets)
end

local frames, packets = os.tmpname(), os.tmpname()
local one, two = tunnel(1, 2), tunnel(2, 1)
write_frames(frames)
local away, back = {{Ingress, one}, {Encap, one}}, {{Decap, two}}
encapsulate(frames, packets, away)

local loop = "pcap:loop=1,rx="
local measured = {
  {"frames passed on", graph(loop .. frames, "null", {{Fwd}})},
  {"encapsulated", graph(loop .. frames, "null", away)},
  {"packets passed on", graph(loop .. packets, "null", {{Fwd}})},
  {"decapsulated", graph(loop .. packets, "null", back, {{Host, two}})},
}
for _ = 1, TURNS do
  for _, item in ipairs(measured) do
    item.best = math.min(item.best or math.huge, cycles(item[2]))
  end
end
os.remove(frames)
os.remove(packets)
print(("cycles a packet, frames of %d bytes, best of %d"):format(size, TURNS))
for _, item in ipairs(measured) do print(("%-18s %6.1f"):format(item[1], item.best)) end
