-- SPDX-License-Identifier: Apache-2.0
-- GTPTable learns which GTP-U tunnel (3GPP TS 29.281) leads back to the hosts in a
-- tunnel: it sends a ping through the tunnel, as one of them, and the reply comes by
-- the tunnel back. GTPLookup puts packets to these hosts into it.
--
-- A tunnel is known by its outer addresses and ports and its number (TEID), a flow by
-- its addresses and ports, both as they are in packets.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local ends_key = require("click.flow.ends_key")
local flow = require("net.flow.flow")
local front = require("click.net.front")
local icmp_echo = require("click.net.icmp_echo")
local ip4 = require("net.ip.ip4")
local ip_header = require("click.net.ip_header")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")
local wire_bytes = require("net.wire.bytes")

local band = bit.band
local words_t = ffi.typeof("int32_t *")
local write16 = wire_bytes.write16
local NETWORK, TRANSPORT, DST_IP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.DST_IP
local IP, UDP_HEADER, GTP, GTP_OPTIONS, ECHO = 20, 8, 8, 4, 8 -- bytes
local TCP, UDP, ICMP = 6, 17, 1
local VERSION_1, OPTIONS, GPDU = 0x30, 0x07, 0xff
local PING, PING_TTL, TTL = 60, 200, 250 -- PING: bytes, with its IP header
local ECHO_REPLY = 0

-- More tunnels, flows or pings on their way than these aren't noted.
local MOST = 2 ^ 20

-- Reading ---------------------------------------------------------------------------

local tunnel_t = ffi.typeof("struct { $ ends; int32_t teid; }", ends_key.type)
local read_ends, read_back = ends_key.read, ends_key.read_back

-- Where the ports are of a packet whose IPv4 header is there; nil: it has none.
local function ports_of(ip, header, left)
  local has_ports = (ip[9] == UDP or ip[9] == TCP) and left >= header + 4
  return has_ports and ip + header or nil
end

-- The bytes of the headers in front of what is in the tunnel, which is put into
-- `tunnel`, and those of IP's; or nil.
local function read_tunnel(p, tunnel)
  local ip, header, left = ip_header.at(p, 0)
  if not ip or ip[9] ~= UDP or left < header + UDP_HEADER + GTP then return nil end
  local gtp = ip + header + UDP_HEADER
  local options = band(gtp[0], OPTIONS) ~= 0 and GTP_OPTIONS or 0
  read_ends(tunnel.ends, ip, ip + header)
  tunnel.teid = ffi.cast(words_t, gtp)[1]
  return header + UDP_HEADER + GTP + options, header
end

-- A table of tunnels by keys of that type.
local function tunnels_by(key)
  return flow.new{key = key, value = tunnel_t, limit = MOST}
end

-- Note the tunnel by the key, unless the table is full; `again`: also in the place of
-- another one.
local function put(t, key, tunnel, again)
  local number, is_new = t:add(key)
  if number ~= 0 and (is_new or again) then t.record[number].value = tunnel end
end

-- What the packets and tunnels that are looked at have.
local tunnel, ends = tunnel_t(), ends_key.type()

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
    tunnels = {read = function (e) return e.back:count() end},
    flows = {read = function (e) return e.inside:count() end},
  },
}

function GTPTable:configure(a)
  self.ping_to, self.verbose = wire.word_of(a.PING_DST), a.VERBOSE
  self.back = self.back or tunnels_by(tunnel_t)        -- by tunnels that came
  self.inside = self.inside or tunnels_by(ends_key.type) -- that came, by flows back
  -- That came, by the reply's addresses, and its identifier and sequence number.
  self.pings = self.pings or tunnels_by(ends_key.type)
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
local function ask(self, p, all, header)
  local inner = ffi.cast(words_t, p.data + all + 12)[0]
  local q = packet.resize(packet.allocate(), PING)
  note.clear(q)
  local id, sequence = math.random(0, 0xffff), math.random(0, 0xffff)
  write_ping(q, inner, self.ping_to, id, sequence)
  read_back(ends, q.data, nil)
  ends.ports = ffi.cast(words_t, q.data + IP)[1]
  put(self.pings, ends, tunnel, true)
  if not cover(q, p, all, header) then return packet.free(q) end
  q.note16[NETWORK], q.note16[TRANSPORT] = q.data_off, q.data_off + header
  q.note32[DST_IP] = self.ping_to
  if self.verbose then
    self:say("%s: a ping in tunnel %d", self.name, wire.number_of(tunnel.teid))
  end
  self.emit(2, q)
end

local function outward(self, p)
  local all, header = read_tunnel(p, tunnel)
  if not all then return nil, NOT_GTP end
  local ip, inner, left = ip_header.at(p, all)
  if not ip then return nil, NOT_GTP end
  read_back(ends, ip, ports_of(ip, inner, left))
  put(self.inside, ends, tunnel, false)
  if self.back:find(tunnel) == 0 then ask(self, p, all, header) end
  front.cut(p, all)
  p.note16[NETWORK], p.note16[TRANSPORT] = p.data_off, p.data_off + inner
  return p
end

local function reply(self, p)
  local all = read_tunnel(p, tunnel)
  if not all then return nil, NOT_GTP end
  local ip, inner, left = ip_header.at(p, all)
  if not ip or left < inner + ECHO then return nil, NOT_GTP end
  if ip[9] ~= ICMP or ip[inner] ~= ECHO_REPLY then return nil, NOT_ASKED end
  read_ends(ends, ip, ip + inner + 4)
  local number = self.pings:find(ends)
  if number == 0 then return nil, NOT_ASKED end
  local came = self.pings.record[number].value
  put(self.back, came, tunnel, true)
  if self.verbose then
    self:say("%s: tunnel %d leads back from %d", self.name,
      wire.number_of(tunnel.teid), wire.number_of(came.teid))
  end
  self.pings:remove(number)
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

-- Write the headers of the tunnel `to` into the room in front.
local function write(self, p, to)
  local destination = to.ends.destination
  local udp = p.data + IP
  local size = p.length - IP
  ffi.cast(words_t, udp)[0] = to.ends.ports
  write16(udp + 4, size)
  write16(udp + 6, 0)
  local gtp = udp + UDP_HEADER
  gtp[0], gtp[1] = VERSION_1, GPDU
  write16(gtp + 2, size - UDP_HEADER - GTP)
  ffi.cast(words_t, gtp)[1] = to.teid
  ip_header.write(p, UDP, to.ends.source, destination, self.id, TTL)
  if self.sum then C.pg_ip4_l4_set(p.data, udp, size, UDP) end
  wire.barrier()
  self.id = (self.id + 1) % 2 ^ 16
  p.note32[DST_IP] = destination
end

function GTPLookup:process(p)
  local ip, header, left = ip_header.at(p, 0)
  if not ip then return nil, NOT_IP end
  local inside, back = self.table.inside, self.table.back
  read_ends(ends, ip, ports_of(ip, header, left))
  local number = inside:find(ends)
  if number == 0 then return nil, UNKNOWN end
  number = back:find(inside.record[number].value)
  if number == 0 then return nil, NOT_YET end
  if not front.open(p, IP + UDP_HEADER + GTP) then return nil, TOO_LONG end
  write(self, p, back.record[number].value)
  return p
end

return {GTPTable, GTPLookup}
