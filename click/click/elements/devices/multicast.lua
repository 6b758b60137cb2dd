-- SPDX-License-Identifier: Apache-2.0
-- McastSocket sends packets to a group of hosts by UDP, and makes packets of what
-- others send to the group.

local ffi = require("ffi")
local element = require("click.element")
local packet_socket = require("click.devices.packet_socket")
local socket_elements = require("click.devices.socket_elements")
local wire = require("click.net.wire")
require("click.classification.ip.named")

local ARGUMENTS = {
  {"MCASTIP", "ip", required = true},
  {"MCASTPORT", "named_port", required = true, protocol = "udp"},
  {"SOURCEIP", "ip", default = 0},
  {"SOURCEPORT", "named_port", default = 0, protocol = "udp"},
  {"LOOP", "bool", default = true, keyword = true},
}
for _, spec in ipairs(socket_elements.arguments) do ARGUMENTS[#ARGUMENTS + 1] = spec end

local McastSocket = element.define{
  name = "McastSocket", summary = "exchanges packets with a multicast group, by UDP",
  ports = "0-1/0-1", processing = "a/h", flow = "x/y", emits = true,
  drops = socket_elements.drops, arguments = ARGUMENTS,
  differs = "HEADROOM has no effect.",
  process = socket_elements.process, task = socket_elements.task,
}

local FIRST_GROUP, LAST_GROUP = 224 * 2 ^ 24, 240 * 2 ^ 24 - 1

function McastSocket:configure(a)
  if a.MCASTIP < FIRST_GROUP or a.MCASTIP > LAST_GROUP then
    return self:error("MCASTIP: %s is no multicast address", wire.ip_text(a.MCASTIP))
  end
  socket_elements.configure(self, a)
  self.group = packet_socket.inet(wire.word_of(a.MCASTIP), a.MCASTPORT)
  self.own = a.SOURCEIP ~= 0
    and packet_socket.inet(wire.word_of(a.SOURCEIP), a.SOURCEPORT) or nil
  self.group_word, self.own_word = wire.word_of(a.MCASTIP), wire.word_of(a.SOURCEIP)
  self.loops = a.LOOP
end

local function bytes_of(...)
  local words = ffi.new("int32_t[2]", ...)
  return ffi.string(words, select("#", ...) * ffi.sizeof("int32_t"))
end

-- Prepare both sockets; what is wrong, or nil.
local function join(self, receiver, sender)
  local problem = socket_elements.set_buffers(self, receiver, sender)
    or receiver:set("SO_REUSEADDR", 1) or receiver:bind(self.group)
  if not problem and self.own then
    problem = sender:bind(self.own) or sender:set("IP_MULTICAST_IF",
      bytes_of(self.own_word))
    self.own = sender:name() -- with the port, if any would do
  end
  return problem
    or receiver:set("IP_ADD_MEMBERSHIP", bytes_of(self.group_word, self.own_word))
    or sender:set("IP_MULTICAST_LOOP", self.loops and 1 or 0)
end

function McastSocket:initialize()
  local problem
  for _, field in ipairs{"receiver", "sender"} do
    self[field], problem = packet_socket.open(packet_socket.INET,
      packet_socket.DATAGRAM)
    if problem then return self:error("%s", problem) end
  end
  problem = join(self, self.receiver, self.sender)
  if problem then return self:error("%s", problem) end
  socket_elements.begin(self)
end

function McastSocket:cleanup()
  socket_elements.finish(self, {"receiver", "sender"})
end

--- Its own packets come back to it, if others on this machine are to have them.
function McastSocket:accepts(from)
  return not (self.own and packet_socket.same(from, self.own))
end

function McastSocket:destination() return self.group end

--- What can't be sent now may be another time.
function McastSocket:broken(problem)
  if self.told == problem then return end
  self.told = problem
  self:remark("%s", problem)
end

return {McastSocket}
