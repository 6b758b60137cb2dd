-- SPDX-License-Identifier: Apache-2.0
-- IPFlowRawSockets sends IP packets of TCP and UDP flows through the kernel, and takes
-- the answers to them, by raw sockets (raw(7)) and a packet socket (packet(7)).

local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local link_layers = require("click.devices.link_layers")
local note = require("click.note")
local packet = require("core.packet")
local packet_socket = require("click.devices.packet_socket")
local socket_elements = require("click.devices.socket_elements")
local wire = require("click.net.wire")

local IP = link_layers.number("IP")
local IP_HEADER, DESTINATION_AT = 20, 16
local TCP, UDP, RAW = 6, 17, 255 -- protocols; RAW is IPPROTO_RAW
local ETHER_TYPE_IP = wire.swap16(ether_type.IP4)
local AGGREGATE, PAINT = note.AGGREGATE, note.PAINT
local KEPT_S = 0.25 -- a flow that is over still gets answers for so long

local IPFlowRawSockets = element.define{
  name = "IPFlowRawSockets", summary = "exchanges packets of flows with the kernel",
  ports = "1/1", processing = "a/h", flow = "x/y", emits = true, exclusive = true,
  drops = {"not connected", "the socket doesn't take it", "no flow of TCP or UDP"},
  arguments = {
    {"NOTIFIER", "element", class = "AggregateIPFlows", keyword = true},
    {"SNAPLEN", "unsigned", default = 2046, min = 1, max = packet.max_payload,
      keyword = true},
    {"PCAP", "bool", default = true, keyword = true},
    {"HEADROOM", "unsigned", keyword = true},
  },
  notes = [[
Needs root, or CAP_NET_RAW. Packets are sent to where their IP headers say, whatever
interface that is. What comes in are answers to flows that have sent: from the addresses
and ports that they sent to. The aggregate annotation says which flow it is; paint
says which way it goes (AggregateIPFlows sets both). With NOTIFIER a
flow is forgotten when that says that it is over, else when `clear` is written. With
PCAP answers are seen before the kernel's firewall; else behind it. The kernel resets
connections that it doesn't know: drop what comes to their ports (iptables -A INPUT -p
tcp --dport 50000:65535 -j DROP), and have net.ipv4.ip_local_port_range
leave them out.]],
  differs = "There are three sockets, not one for each flow. HEADROOM has no effect.",
  task = socket_elements.task,
}

function IPFlowRawSockets:configure(a)
  self.notifier, self.snaplen, self.stamps, self.early =
    a.NOTIFIER, a.SNAPLEN, true, a.PCAP
  self.flows, self.keys = {}, {}
  self.tuple, self.to = ffi.new("struct click_flow_ends"), packet_socket.inet(0, 0)
end

-- Sockets --------------------------------------------------------------------------

-- Two sockets as one to receive from.
local Pair = {}
Pair.__index = Pair

function Pair:receive(data, n)
  for i = 1, 2 do
    local got, problem = self[i]:receive(data, n)
    if got or problem then
      self.from = self[i].from
      return got, problem
    end
  end
end

function Pair:close()
  self[1]:close()
  self[2]:close()
end

-- What answers come by; or nil and what is wrong.
local function open_receiver(early)
  if early then
    return packet_socket.open(packet_socket.PACKET, packet_socket.DATAGRAM,
      ETHER_TYPE_IP)
  end
  local tcp, problem = packet_socket.open(packet_socket.INET, packet_socket.RAW, TCP)
  if not tcp then return nil, problem end
  local udp
  udp, problem = packet_socket.open(packet_socket.INET, packet_socket.RAW, UDP)
  if udp then return setmetatable({tcp, udp}, Pair) end
  tcp:close()
  return nil, problem
end

-- Open its sockets; what is wrong, or nil.
local function open(self)
  local problem
  self.socket, problem = packet_socket.open(packet_socket.INET, packet_socket.RAW, RAW)
  if not self.socket then return problem end
  self.sender = self.socket
  problem = self.socket:set("IP_HDRINCL", 1)
  if problem then return problem end
  self.answers, problem = open_receiver(self.early)
  self.receiver = self.answers
  return problem
end

local function forget(self, number)
  local key = self.flows[number]
  if not key then return end
  self.flows[number], self.keys[key] = nil, nil
end

function IPFlowRawSockets:initialize()
  if not socket_elements.inherits(self) then
    local problem = open(self)
    if problem then return self:error("%s", problem) end
  end
  if self.notifier then
    self.notifier:when_over(function (number)
      self.router:timer(function () forget(self, number) end):after(KEPT_S)
    end)
  end
  socket_elements.begin(self)
end

local KEPT = {"socket", "answers", "receiver", "sender", "waiting", "sent", "flows",
  "keys"}

function IPFlowRawSockets:take_state(old) socket_elements.take(self, old, KEPT) end

function IPFlowRawSockets:cleanup()
  socket_elements.finish(self, {"socket", "answers"})
end

-- Packets --------------------------------------------------------------------------

local function key_of(protocol, address, port, own_port)
  return ("%d %d %d %d"):format(protocol, address, port, own_port)
end

-- Note the packet's flow, if it is new. False: it has none.
local function see(self, p)
  local number, ends = p.note32[AGGREGATE], self.tuple
  if number == 0 or not C.pg_flow_ends(p, ends) then return false end
  if self.flows[number] then return true end
  if ends.protocol ~= TCP and ends.protocol ~= UDP then return false end
  local key
  if p.note8[PAINT] % 2 == 1 then
    key = key_of(ends.protocol, ends.source, ends.sport, ends.dport)
  else
    key = key_of(ends.protocol, ends.destination, ends.dport, ends.sport)
  end
  self.flows[number], self.keys[key] = key, number
  return true
end

local NO_FLOW = 3

function IPFlowRawSockets:process(p)
  if not see(self, p) then return nil, NO_FLOW end
  return socket_elements.process(self, p)
end

function IPFlowRawSockets:refuses(p)
  if self.ninputs > 0 and self.upstream and not see(self, p) then return true end
  return p.length < IP_HEADER
end

function IPFlowRawSockets:destination(p)
  packet_socket.set_ip(self.to, wire.word(p.data, DESTINATION_AT))
  return self.to
end

--- What this machine sends is no answer.
function IPFlowRawSockets:accepts(from)
  return not (self.early and packet_socket.is_outgoing(from))
end

--- Is it an answer to a flow?
function IPFlowRawSockets:suits(p)
  local ends = self.tuple
  return link_layers.find_ip(p, IP) and C.pg_flow_ends(p, ends)
    and self.keys[key_of(ends.protocol, ends.source, ends.sport, ends.dport)] ~= nil
end

--- What the kernel refused is lost; the sockets go on.
function IPFlowRawSockets:broken(problem)
  self:remark("%s", problem)
end

IPFlowRawSockets.handlers.clear = element.command(function (self)
  self.flows, self.keys = {}, {}
end)

return {IPFlowRawSockets}
