-- SPDX-License-Identifier: Apache-2.0
-- RawSocket sends IP packets through the kernel, header included, and takes copies of
-- those that reach this machine, by a raw socket (raw(7)). FromRawSocket and
-- ToRawSocket are its older names.

local arguments = require("click.arguments")
local element = require("click.element")
local link_layers = require("click.devices.link_layers")
local packet = require("core.packet")
local packet_socket = require("click.devices.packet_socket")
local socket_elements = require("click.devices.socket_elements")
local wire = require("click.net.wire")
require("click.classification.ip.named")

local IP = link_layers.number("IP")
local IP_HEADER, DESTINATION_AT = 20, 16
local TCP, UDP = 6, 17

local TYPE = {"TYPE", "ip_proto", required = true}
local PORT = {"PORT", "unsigned", default = 0, max = 65535}
local NAMED_PORTS = {
  [TCP] = {"PORT", "named_port", default = 0, protocol = "tcp"},
  [UDP] = {"PORT", "named_port", default = 0, protocol = "udp"},
}
local SNAPLEN = {"SNAPLEN", "unsigned", default = 2048, min = 1,
  max = packet.max_payload, keyword = true}
local HEADROOM = {"HEADROOM", "unsigned", keyword = true}

local RawSocket = element.define{
  name = "RawSocket", summary = "exchanges IP packets with a raw socket",
  ports = "0-1/0-1", processing = "l/h", flow = "x/y", emits = true,
  drops = socket_elements.drops,
  arguments = {TYPE, PORT, SNAPLEN, HEADROOM},
  notes = "Needs root, or CAP_NET_RAW. All IPv4 packets of the protocol TYPE that "
    .. "reach this machine come in, whatever their port. A PORT of TCP or UDP is held "
    .. "by a socket of its own, so that the kernel takes it for used. With other "
    .. "protocols it has no effect.",
  differs = "HEADROOM has no effect.",
  process = socket_elements.process, task = socket_elements.task,
}

function RawSocket:configure_raw(list)
  local protocol = list[1] and arguments.value(list[1], TYPE, self)
  local port = NAMED_PORTS[protocol] or PORT
  local a = arguments.parse({TYPE, port, SNAPLEN, HEADROOM}, list, self)
  if not a then return end
  self.protocol, self.port, self.snaplen, self.stamps = a.TYPE, a.PORT, a.SNAPLEN, true
  self.to = packet_socket.inet(0, 0)
end

-- Hold the port, if there is one; what is wrong, or nil.
local function claim(self)
  if self.port == 0 or not NAMED_PORTS[self.protocol] then return nil end
  local claimed, problem = packet_socket.open(packet_socket.INET,
    self.protocol == TCP and packet_socket.STREAM or packet_socket.DATAGRAM)
  if not claimed then return problem end
  self.claimed = claimed
  problem = claimed:bind(packet_socket.inet(wire.word_of(0), self.port))
  return problem and ("port %d: %s"):format(self.port, problem)
end

function RawSocket:initialize()
  if not socket_elements.inherits(self) then
    local socket, problem = packet_socket.open(packet_socket.INET, packet_socket.RAW,
      self.protocol)
    if not socket then return self:error("%s", problem) end
    self.socket, self.receiver, self.sender = socket, socket, socket
    problem = claim(self) or socket:set("IP_HDRINCL", 1)
      or socket:set("SO_BROADCAST", 1)
    if problem then return self:error("%s", problem) end
  end
  socket_elements.begin(self)
end

local KEPT = {"socket", "receiver", "sender", "claimed", "waiting", "sent"}

function RawSocket:take_state(old) socket_elements.take(self, old, KEPT) end

function RawSocket:cleanup()
  socket_elements.finish(self, {"socket", "claimed"})
end

-- Packets --------------------------------------------------------------------------

function RawSocket:accepts() return true end -- luacheck: no self

function RawSocket:suits(p) -- luacheck: no self
  return link_layers.find_ip(p, IP)
end

function RawSocket:refuses(p)
  if p.length >= IP_HEADER then return false end
  self:remark("runt IP packet (%d bytes)", p.length)
  return true
end

function RawSocket:destination(p)
  packet_socket.set_ip(self.to, wire.word(p.data, DESTINATION_AT))
  return self.to
end

--- What the kernel refused is lost; the socket goes on.
function RawSocket:broken(problem)
  self:remark("%s", problem)
end

-- FromRawSocket, ToRawSocket -------------------------------------------------------

local function deprecate(self, list)
  self:say("warning: %s is deprecated, use RawSocket instead", self.class.name)
  return RawSocket.configure_raw(self, list)
end

local FromRawSocket = element.define{
  name = "FromRawSocket", extends = RawSocket, processing = "h/h",
  configure_raw = deprecate, summary = "receives IP packets from a raw socket",
}

local ToRawSocket = element.define{
  name = "ToRawSocket", extends = RawSocket, processing = "l/l",
  configure_raw = deprecate, summary = "sends IP packets by a raw socket",
}

return {RawSocket, FromRawSocket, ToRawSocket}
