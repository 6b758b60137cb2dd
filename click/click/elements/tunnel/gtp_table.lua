-- SPDX-License-Identifier: Apache-2.0
-- GTPTable learns which GTP-U tunnel (3GPP TS 29.281) leads back to the hosts in a
-- tunnel: it sends a ping through the tunnel, as one of them, and the reply comes by
-- the tunnel back. GTPLookup puts packets to these hosts into it.
--
-- A tunnel is a string: the outer source and destination address, source and
-- destination port, and the tunnel's number (TEID), 16 bytes as they are in packets. A
-- flow is the same without a number.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local front = require("click.net.front")
local icmp_echo = require("click.net.icmp_echo")
local ip4 = require("net.ip.ip4")
local ip_header = require("click.net.ip_header")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")
local wire_bytes = require("net.wire.bytes")

local band, tobit = bit.band, bit.tobit
local words_t = ffi.typeof("int32_t *")
local text, write16 = ffi.string, wire_bytes.write16
local NETWORK, TRANSPORT, DST_IP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.DST_IP
local IP, UDP_HEADER, GTP, GTP_OPTIONS, ECHO = 20, 8, 8, 4, 8 -- bytes
local TCP, UDP, ICMP = 6, 17, 1
local VERSION_1, OPTIONS, GPDU = 0x30, 0x07, 0xff
local PING, PING_TTL, TTL = 60, 200, 250 -- PING: bytes, with its IP header
local ECHO_REPLY = 0
local NO_PORTS = ("\0"):rep(4)

-- More tunnels, flows or pings on their way than these aren't noted.
local MOST = 2 ^ 20

-- Reading ---------------------------------------------------------------------------

-- The bytes of the IPv4 header `at` bytes into the packet; nil if it isn't whole, or
-- `more` bytes aren't behind it.
local function header_at(p, at, more)
  local left = p.length - at
  if left < IP then return nil end
  local first = p.data[at]
  local size = band(first, 15) * 4
  if first - first % 16 ~= 0x40 or size < IP or left < size + more then return nil end
  return size
end

-- The flow of the packet whose IPv4 header is at that pointer, with ports if it is one
-- of UDP or TCP that has them.
local function flow_of(ip, size, left, back)
  local has_ports = (ip[9] == UDP or ip[9] == TCP) and left >= size + 4
  if not back then
    return text(ip + 12, 8) .. (has_ports and text(ip + size, 4) or NO_PORTS)
  end
  local ports = has_ports and text(ip + size + 2, 2) .. text(ip + size, 2) or NO_PORTS
  return text(ip + 16, 4) .. text(ip + 12, 4) .. ports
end

-- The outer headers' bytes, and the tunnel; or nil.
local function tunnel_of(p)
  local size = header_at(p, 0, UDP_HEADER + GTP)
  if not size or p.data[9] ~= UDP then return nil end
  local gtp = p.data + size + UDP_HEADER
  local options = band(gtp[0], OPTIONS) ~= 0 and GTP_OPTIONS or 0
  local tunnel = text(p.data + 12, 8) .. text(p.data + size, 4) .. text(gtp + 4, 4)
  return size + UDP_HEADER + GTP + options, tunnel, size
end

-- What is noted by key, up to MOST.
local function new_table() return {n = 0, of = {}} end

local function put(t, key, value)
  if not t.of[key] then
    if t.n >= MOST then return end
    t.n = t.n + 1
  end
  t.of[key] = value
end

local function take(t, key)
  local value = t.of[key]
  if value then t.of[key], t.n = nil, t.n - 1 end
  return value
end

-- GTPTable --------------------------------------------------------------------------

local NOT_GTP, ANSWERED, NOT_ASKED = 1, 2, 3

local GTPTable = element.define{
  name = "GTPTable", summary = "finds the GTP tunnel that leads back, by a ping",
  ports = "2/2", processing = "h/h", flow = "xy/xz", emits = true,
  arguments = {
    {"PING_DST", "ip", required = true},
    {"VERBOSE", "bool", default = false, keyword = true},
  },
  drops = {"not GTP", "reply to a ping", "reply to no ping"},
  notes = "Input 0 takes packets of tunnels, from the IP header on, and output 0 sends "
    .. "what is in them. Output 1 sends pings in tunnels not known yet, and input 1 "
    .. "takes the replies. It notes up to a million tunnels, flows and pings.",
  differs = "VERBOSE is false unless it is given, and the length of a ping in its GTP "
    .. "header is the ping's.",
  handlers = {
    tunnels = {read = function (e) return e.back.n end},
    flows = {read = function (e) return e.inside.n end},
  },
}

function GTPTable:configure(a)
  self.ping_to, self.verbose = wire.word_of(a.PING_DST), a.VERBOSE
  self.back = self.back or new_table()     -- tunnels by those that came
  self.inside = self.inside or new_table() -- tunnels that came, by flows back
  self.pings = self.pings or new_table()   -- tunnels that came, by reply
end

local function teid(tunnel) return wire.number_of(wire.word(tunnel, 12)) end

local function reply_key(ip, message)
  return text(ip + 12, 8) .. text(message + 4, 4)
end

-- Write the ping, without the headers in front of it, from that address (a word).
local function write_ping(q, source, destination, id, sequence)
  ffi.fill(q.data, PING)
  q.data[IP] = 8
  icmp_echo.number(q.data + IP, id, sequence)
  icmp_echo.finish(q, source, destination, id % 0xffff + 1, PING_TTL)
end

-- Put the headers in front of the ping that the packet `p` came with.
local function cover(q, p, all, size)
  if not front.open(q, all) then return false end
  ffi.copy(q.data, p.data, all)
  write16(q.data + 2, q.length)
  ip4.set_checksum(q.data, size)
  local udp = q.data + size
  write16(udp + 4, q.length - size)
  write16(udp + 6, 0)
  write16(udp + UDP_HEADER + 2, q.length - size - UDP_HEADER - GTP)
  return true
end

-- Ask for the tunnel back.
local function ask(self, p, tunnel, all, size)
  local inner = ffi.cast(words_t, p.data + all + 12)[0]
  local q = packet.resize(packet.allocate(), PING)
  note.clear(q)
  local id, sequence = math.random(0, 0xffff), math.random(0, 0xffff)
  write_ping(q, inner, self.ping_to, id, sequence)
  local ip = q.data
  put(self.pings, text(ip + 16, 4) .. text(ip + 12, 4) .. text(ip + IP + 4, 4), tunnel)
  if not cover(q, p, all, size) then return packet.free(q) end
  q.note16[NETWORK], q.note16[TRANSPORT] = q.data_off, q.data_off + size
  q.note32[DST_IP] = self.ping_to
  if self.verbose then
    self:say("%s: a ping in tunnel %d", self.name, teid(tunnel))
  end
  self.emit(2, q)
end

local function outward(self, p)
  local all, tunnel, size = tunnel_of(p)
  local inner = all and header_at(p, all, 0)
  if not inner then return nil, NOT_GTP end
  if not self.back.of[tunnel] then ask(self, p, tunnel, all, size) end
  local flow = flow_of(p.data + all, inner, p.length - all, true)
  if not self.inside.of[flow] then put(self.inside, flow, tunnel) end
  front.cut(p, all)
  p.note16[NETWORK], p.note16[TRANSPORT] = p.data_off, p.data_off + inner
  return p
end

local function reply(self, p)
  local all, tunnel = tunnel_of(p)
  local inner = all and header_at(p, all, ECHO)
  if not inner then return nil, NOT_GTP end
  local ip = p.data + all
  if ip[9] ~= ICMP or ip[inner] ~= ECHO_REPLY then return nil, NOT_ASKED end
  local came = take(self.pings, reply_key(ip, ip + inner))
  if not came then return nil, NOT_ASKED end
  put(self.back, came, tunnel)
  if self.verbose then
    self:say("%s: tunnel %d leads back from %d", self.name, teid(tunnel), teid(came))
  end
  return nil, ANSWERED
end

function GTPTable:process(p, i)
  if i == 1 then return outward(self, p) end
  return reply(self, p)
end

-- GTPLookup -------------------------------------------------------------------------

local NOT_IP, UNKNOWN, NOT_YET, TOO_LONG = 1, 2, 3, 4

local GTPLookup = element.define{
  name = "GTPLookup", summary = "puts packets into the GTP tunnel that leads back",
  processing = "h/h",
  arguments = {
    {"TABLE", "element", required = true, class = "GTPTable"},
    {"CHECKSUM", "bool", default = true, keyword = true},
  },
  drops = {"not IP", "no tunnel has its flow", "the tunnel back isn't known yet",
           "too long"},
  notes = "It sets the destination annotation to the tunnel's other end.",
  differs = "Packets whose tunnel back isn't known yet are dropped by that name: "
    .. "FastClick keeps them for good. The length in the GTP header is that of what "
    .. "follows it.",
}

function GTPLookup:configure(a)
  self.table, self.sum, self.id = a.TABLE, a.CHECKSUM, 0
end

-- Write the headers of the tunnel into the room in front.
local function write(self, p, tunnel)
  local source, destination = wire.word(tunnel, 0), wire.word(tunnel, 4)
  local udp = p.data + IP
  local size = p.length - IP
  ffi.copy(udp, ffi.cast("const char *", tunnel) + 8, 4)
  write16(udp + 4, size)
  write16(udp + 6, 0)
  local gtp = udp + UDP_HEADER
  gtp[0], gtp[1] = VERSION_1, GPDU
  write16(gtp + 2, size - UDP_HEADER - GTP)
  ffi.copy(gtp + 4, ffi.cast("const char *", tunnel) + 12, 4)
  ip_header.write(p, UDP, source, destination, self.id, TTL)
  if self.sum then C.pg_ip4_l4_set(p.data, udp, size, UDP) end
  wire.barrier()
  self.id = (self.id + 1) % 2 ^ 16
  p.note32[DST_IP] = tobit(destination)
end

function GTPLookup:process(p)
  local size = header_at(p, 0, 0)
  if not size then return nil, NOT_IP end
  local known = self.table
  local came = known.inside.of[flow_of(p.data, size, p.length, false)]
  if not came then return nil, UNKNOWN end
  local tunnel = known.back.of[came]
  if not tunnel then return nil, NOT_YET end
  if not front.open(p, IP + UDP_HEADER + GTP) then return nil, TOO_LONG end
  write(self, p, tunnel)
  return p
end

return {GTPTable, GTPLookup}
