-- SPDX-License-Identifier: Apache-2.0
-- snsh bench/lua/compare.lua KIND SECONDS: a graph of apps, on Perigee or on Snabb, in
-- Snabb's own terms. Prints the packets that it carried and the CPU seconds that took;
-- what comes before SECONDS (of CPU time) isn't measured.
--
-- KIND: chain:N (N apps that pass packets on), filter or filter:native (a pcap filter
-- that half of the packets pass), bridge (a learning one of 4 ports with 64 stations
-- each), rate (a rate limiter that lets all pass), swap (lib.protocol: an object of
-- each packet's Ethernet header, whose addresses are exchanged), unfreed (swap, but the
-- object isn't freed), headers (swap of Ethernet, IPv4 and UDP headers, of which some
-- fields are set), datagram (parsed by lib.protocol.datagram), push (three headers
-- taken off, others put before).

local basic = require("apps.basic.basic_apps")
local ffi = require("ffi")

local WARM_UP_SECONDS = 1

local kind, seconds = main.parameters[1], tonumber(main.parameters[2])
local c = config.new()

-- Packets of which each breath takes the next engine.pull_npackets.
local Traffic = {}
Traffic.__index = Traffic

function Traffic.new(_, packets)
  return setmetatable({packets = packets, at = 0}, Traffic)
end

local function emit(output, packets, at, n)
  local last = #packets
  for _ = 1, n do
    at = at < last and at + 1 or 1
    link.transmit(output, packet.clone(packets[at]))
  end
  return at
end

function Traffic:pull()
  self.at = emit(self.output.output, self.packets, self.at, engine.pull_npackets)
end

local Fwd = {}
Fwd.__index = Fwd

function Fwd.new() return setmetatable({}, Fwd) end

function Fwd:push()
  local input, output = self.input.input, self.output.output
  for _ = 1, link.nreadable(input) do link.transmit(output, link.receive(input)) end
end

local function bytes_of(hex)
  return (hex:gsub("%s", ""):gsub("%x%x", function (digits)
    return string.char(tonumber(digits, 16))
  end))
end

-- A frame of 60 bytes that begins with these, as hexadecimal digits.
local function frame(hex)
  local text = bytes_of(hex)
  text = text .. ("\0"):rep(60 - #text)
  return packet.from_pointer(ffi.cast("const uint8_t *", text), #text)
end

-- The graphs: each ends in the inputs of "sink" ---------------------------------------

local graphs = {}

function graphs.chain(length)
  config.app(c, "source", basic.Source)
  local from = "source.output"
  for i = 1, tonumber(length) do
    config.app(c, "fwd" .. i, Fwd)
    config.link(c, ("%s -> fwd%d.input"):format(from, i))
    from = ("fwd%d.output"):format(i)
  end
  config.link(c, from .. " -> sink.input")
end

-- Frames from changing ports, of the protocols (hexadecimal) in turn.
local function ipv4_traffic(protocols)
  local packets = {}
  for i = 1, 256 do
    packets[i] = frame(("02 00 00 00 00 01 02 00 00 00 00 02 08 00 45 00 00 2e 00 00 "
      .. "00 00 40 %s 00 00 0a 00 00 01 0a 00 00 02 %04x 00 35")
      :format(protocols[i % #protocols + 1], 1024 + i))
  end
  return packets
end

function graphs.filter(native)
  config.app(c, "source", Traffic, ipv4_traffic{"11", "06"})
  config.app(c, "filter", require("apps.packet_filter.pcap_filter").PcapFilter,
    {filter = "ip and udp dst port 53 and src net 10.0.0.0/8",
     native = native == "native"})
  config.link(c, "source.output -> filter.input")
  config.link(c, "filter.output -> sink.input")
end

function graphs.rate()
  config.app(c, "source", basic.Source)
  config.app(c, "rate", require("apps.rate_limiter.rate_limiter").RateLimiter,
    {rate = 1e12, bucket_capacity = 1e12})
  config.link(c, "source.output -> rate.input")
  config.link(c, "rate.output -> sink.input")
end

-- An app that calls change(p) for each packet, and sends what it returns.
local function changing(change)
  local App = {new = function (self) return setmetatable({}, {__index = self}) end}

  function App:push()
    local input, output = self.input.input, self.output.output
    for _ = 1, link.nreadable(input) do
      link.transmit(output, change(link.receive(input)))
    end
  end

  return App
end

local function protocol(change)
  config.app(c, "source", Traffic, ipv4_traffic{"11"})
  config.app(c, "change", changing(change))
  config.link(c, "source.output -> change.input")
  config.link(c, "change.output -> sink.input")
end

function graphs.swap()
  local ethernet = require("lib.protocol.ethernet")
  protocol(function (p)
    local eth = ethernet:new_from_mem(p.data, p.length)
    eth:swap()
    eth:free()
    return p
  end)
end

function graphs.unfreed()
  local ethernet = require("lib.protocol.ethernet")
  protocol(function (p)
    ethernet:new_from_mem(p.data, p.length):swap()
    return p
  end)
end

function graphs.headers()
  local ethernet = require("lib.protocol.ethernet")
  local ipv4, udp = require("lib.protocol.ipv4"), require("lib.protocol.udp")
  local mac, address = ethernet:pton("02:00:00:00:00:07"), ipv4:pton("192.0.2.1")
  protocol(function (p)
    local eth = ethernet:new_from_mem(p.data, p.length)
    if eth:type() == 0x0800 then
      local ip = ipv4:new_from_mem(p.data + 14, p.length - 14)
      if ip:protocol() == 17 then
        local ports = udp:new_from_mem(p.data + 34, p.length - 34)
        ports:dst_port(ports:dst_port() + 1)
        ports:free()
      end
      ip:src(address)
      ip:ttl(ip:ttl() - 1)
      ip:checksum()
      ip:free()
    end
    eth:src(mac)
    eth:free()
    return p
  end)
end

function graphs.datagram()
  local datagram = require("lib.protocol.datagram")
  local ethernet = require("lib.protocol.ethernet")
  local parsed = datagram:new(nil, ethernet)
  packet.free(parsed:packet())
  protocol(function (p)
    local d = parsed:new(p, ethernet)
    d:parse_n(3)
    local stack = d:stack()
    local ip, udp = stack[2], stack[3]
    ip:ttl(ip:ttl() - 1)
    udp:src_port(udp:src_port() + 1)
    return d:packet()
  end)
end

function graphs.push()
  local datagram = require("lib.protocol.datagram")
  local ethernet = require("lib.protocol.ethernet")
  local ipv4, udp = require("lib.protocol.ipv4"), require("lib.protocol.udp")
  local parsed = datagram:new(nil, ethernet, {delayed_commit = true})
  packet.free(parsed:packet())
  local mac, address = ethernet:pton("02:00:00:00:00:07"), ipv4:pton("192.0.2.1")
  local eth = ethernet:new{src = mac, dst = mac, type = 0x0800}
  local ip = ipv4:new{src = address, dst = address, protocol = 17, ttl = 64}
  local ports = udp:new{src_port = 7, dst_port = 9}
  local options = {delayed_commit = true}
  protocol(function (p)
    local d = parsed:new(p, ethernet, options)
    d:parse_n(3)
    d:pop(3)
    d:push(ports)
    d:push(ip)
    d:push(eth)
    d:commit()
    return d:packet()
  end)
end

local PORTS, STATIONS = 4, 64

-- What the stations of a port send, each to the next stations of the next port.
local function stations(port)
  local packets = {}
  for i = 1, STATIONS do
    packets[i] = frame(("02 00 00 00 %02x %02x 02 00 00 00 %02x %02x 88 b5")
      :format(port % PORTS + 1, i, port, i))
  end
  return packets
end

function graphs.bridge()
  local ports = {}
  for port = 1, PORTS do
    local name = "p" .. port
    ports[port] = name
    config.app(c, "source" .. port, Traffic, stations(port))
    config.link(c, ("source%d.output -> bridge.%s"):format(port, name))
    config.link(c, ("bridge.%s -> sink.%s"):format(name, name))
  end
  config.app(c, "bridge", require("apps.bridge.learning").bridge, {ports = ports})
end

-- The run -----------------------------------------------------------------------------

-- Packets that the sink and the filter have received.
local function carried()
  local apps, sum = engine.app_table, 0
  for name, input in pairs((apps.filter or apps.sink).input) do
    if type(name) == "string" then sum = sum + tonumber(link.stats(input).rxpackets) end
  end
  return sum
end

local name, argument = kind:match("^(%w+):?(.*)$")
graphs[name](argument)
config.app(c, "sink", basic.Sink)
engine.configure(c)
engine.busywait = true

-- Other processes may have the CPU meanwhile.
local function run(cpu_seconds)
  local ends = os.clock() + cpu_seconds
  repeat engine.main{duration = 0.2, no_report = true} until os.clock() >= ends
end

run(WARM_UP_SECONDS)
local packets, cpu = carried(), os.clock()
run(seconds)
cpu = os.clock() - cpu
print(("%d %.6f"):format(carried() - packets, cpu))
