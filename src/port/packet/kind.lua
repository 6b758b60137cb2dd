-- SPDX-License-Identifier: Apache-2.0
-- packet: a kernel interface by AF_PACKET, driven by our own driver
-- (packet.c). The kernel keeps what it receives, too.

local arguments = require("lib.port.arguments")
local distribute = require("core.cpus.distribute")
local driver = require("lib.port.driver")
local needs = require("lib.port.needs")

local C = require("core.declare")("port/packet/packet.h")

local packet = {
  name = "packet", order = 4,
  summary = "a kernel interface by AF_PACKET",
  positional = true,
  args = {
    arguments.at("iface", arguments.interface, "IFACE", "the kernel interface"),
    {name = "ring", type = arguments.integer(1, 65536), default = 4096, show = "N",
      help = "frames received that wait at most, rounded up"},
    {name = "shared", type = arguments.flag, default = 0, show = "1",
      help = "1: send though another process does"},
    {name = "force", type = arguments.flag, default = 0, show = "1",
      help = "1: also where the default route goes"},
    arguments.wait,
  },
  bench = {order = 6, receive = "packet:pgm0", send = "packet:pgm1", round = 256,
    namespace = "veth"},
  full_bursts = true,
  takes_shared = true,
}

--- One that shares its interface takes nothing for itself.
function packet.thing(port)
  if port.receive_only or port.shared == 1 then return nil end
  return "interface/" .. port.iface
end

function packet.check(port, roots)
  needs.interface(port, roots)
  needs.capabilities(port, {"CAP_NET_RAW"}, roots)
end

function packet.interface(port) return port.iface end

function packet.suits() return 2 end

--- Each copy has a socket, and the kernel looks into each frame for each of them.
function packet.divides(_, meets)
  return meets == "nothing" or meets == "flow" or meets == "addresses"
end

function packet.open(device_port, port)
  local sends, copies, copy, by = not port.receive_only, distribute.numbers(port.share)
  local alone = port.shared == 0 and copy == 0
  driver.check(port, C.pg_packet_open(device_port, port.iface, port.ring, sends, alone,
    port.wait == 1, copies, copy, by))
end

--- The sockets and the ring are there then, and only join the interface.
function packet.prepare(port)
  C.pg_packet_prepare(port.iface, port.ring, not port.receive_only)
end

--- In an upgrade the socket and its ring go to the next process.
function packet.pass(device_port, _, connection)
  C.pg_packet_pass(device_port, connection)
end

--- Frames in the ring make the socket readable.
function packet.wake_fds(device_port)
  return {C.pg_packet_descriptor(device_port)}
end

--- The interface may have another MTU now, or have gone, or be back.
packet.tend = C.pg_packet_tend
packet.rejoins = true

return packet
