-- SPDX-License-Identifier: Apache-2.0
-- UDP and IPv4 headers put before packets, and TCP ones made from nothing.

local bit = require("bit")
local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local arguments = require("click.arguments")
local element = require("click.element")
local front = require("click.net.front")
local keywords = require("click.router.keywords")
local note = require("click.note")
local packet = require("core.packet")
local text_of = require("click.language.text")
local wire = require("click.net.wire")
require("click.classification.ip.named")

local barrier = wire.barrier
local band, tobit = bit.band, bit.tobit
local open, swap16 = front.open, wire.swap16
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local NETWORK, TRANSPORT, DST_IP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.DST_IP
local IP_HEADER, UDP_HEADER, TCP_HEADER = 20, 8, 20 -- bytes
local HEADERS = IP_HEADER + UDP_HEADER
local UDP, TCP, TTL, TCP_TTL = 17, 6, 250, 255
local FROM_NOTE = "DST_ANNO"
local FIRST = ffi.abi("le") and 0x0045 or 0x4500 -- version, length and TOS, as a half

-- The header's half of TTL and protocol.
local function life(ttl, protocol)
  return ffi.abi("le") and ttl + protocol * 256 or ttl * 256 + protocol
end
local UDP_LIFE = life(TTL, UDP)

-- UDPIPEncap -----------------------------------------------------------------------

local UDPIPEncap = element.define{
  name = "UDPIPEncap", summary = "encapsulates packets in static UDP/IP headers",
  division = "any", readdresses = true,
  live = true,
  arguments = {
    {"SRC", "ip", required = true},
    {"SPORT", "named_port", required = true, protocol = "udp"},
    {"DST", "argument", required = true},
    {"DPORT", "named_port", required = true, protocol = "udp"},
    {"CHECKSUM", "bool", default = true},
  },
  drops = {"too long"},
}

local function set(e, source, source_port, destination, destination_port)
  e.source, e.destination = wire.word_of(source), wire.word_of(destination)
  e.source_port, e.destination_port = swap16(source_port), swap16(destination_port)
  e.id = e.id or 0
end

function UDPIPEncap:configure(a)
  self.from_note = a.DST == FROM_NOTE
  local destination = self.from_note and 0 or arguments.types.ip(a.DST, {}, self)
  if not destination then return self:error("bad DST") end
  set(self, a.SRC, a.SPORT, destination, a.DPORT)
  self.sum = a.CHECKSUM
end

local function port_text(field)
  return function (e) return ("%d"):format(swap16(e[field])) end
end

local function ip_text(field)
  return function (e) return wire.word_text(e[field]) end
end

UDPIPEncap.handlers = {
  src = keywords.handler("SRC", 1, ip_text("source")),
  sport = keywords.handler("SPORT", 2, port_text("source_port")),
  dst = keywords.handler("DST", 3, ip_text("destination")),
  dport = keywords.handler("DPORT", 4, port_text("destination_port")),
}

-- The IP header is written, but for the checksum, whose sum of halves comes last.
local function write_ip(self, p, destination)
  local ip, n, at = p.data, p.note16, p.data_off
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  local id = self.id
  self.id = band(id + 1, 0xffff)
  halves[0], halves[1], halves[2], halves[3] = FIRST, swap16(p.length), swap16(id), 0
  halves[4], halves[5] = UDP_LIFE, 0
  words[3], words[4] = self.source, destination
  local sum = tobit(halves[0] + halves[1] + halves[2] + halves[4] + halves[6]
    + halves[7] + halves[8] + halves[9])
  halves[5] = checksum.fold(sum)
  p.note32[DST_IP] = destination
  n[NETWORK], n[TRANSPORT] = at, at + IP_HEADER
end

local function write_udp(self, p)
  local ip, size = p.data, p.length - IP_HEADER
  local udp = ffi.cast(halves_t, ip + IP_HEADER)
  udp[0], udp[1], udp[2], udp[3] =
    self.source_port, self.destination_port, swap16(size), 0
  if self.sum then C.pg_ip4_l4_set(ip, ip + IP_HEADER, size, UDP) end
  barrier()
end

function UDPIPEncap:process(p)
  if not open(p, HEADERS) then return nil, 1 end
  local destination = self.destination
  if self.from_note then destination = tobit(p.note32[DST_IP]) end
  write_ip(self, p, destination)
  write_udp(self, p)
  return p
end

-- RandomUDPIPEncap, DynamicUDPIPEncap ----------------------------------------------

local RandomUDPIPEncap = element.define{
  name = "RandomUDPIPEncap", extends = UDPIPEncap,
  summary = "encapsulates packets in random UDP/IP headers",
  arguments = {{"CHECKSUM", "bool", default = true}},
}

function RandomUDPIPEncap:configure(a)
  local function random(bits) return math.random(0, 2 ^ bits - 1) end
  self.from_note, self.sum = false, a.CHECKSUM
  set(self, random(32), random(16), random(32), random(16))
end

local DynamicUDPIPEncap = element.define{
  name = "DynamicUDPIPEncap", extends = UDPIPEncap, live = false,
  division = "none", undivided = "ports go up with the packets, which it counts in one "
    .. "row",
  summary = "encapsulates packets in UDP/IP headers whose ports go up",
  arguments = {
    UDPIPEncap.arguments[1], UDPIPEncap.arguments[2],
    {"DST", "ip", required = true}, UDPIPEncap.arguments[4],
    {"CHECKSUM", "bool", default = true},
    {"INTERVAL", "unsigned", default = 0},
  },
}

function DynamicUDPIPEncap:configure(a)
  set(self, a.SRC, a.SPORT, a.DST, a.DPORT)
  self.from_note, self.sum = false, a.CHECKSUM
  self.interval, self.count = a.INTERVAL, 0
end

local function advance(port) return swap16(band(swap16(port) + 1, 0xffff)) end

function DynamicUDPIPEncap:process(p)
  local q, o = UDPIPEncap.process(self, p)
  self.count = self.count + 1
  if self.count == self.interval then
    self.count = 0
    self.source_port = advance(self.source_port)
    self.destination_port = advance(self.destination_port)
  end
  return q, o
end

-- TCPIPSend ------------------------------------------------------------------------

local TCPIPSend = element.define{
  name = "TCPIPSend", summary = "sends TCP/IP packets on request",
  ports = "0/1", processing = "/h", emits = true,
}

local SEND = {
  {"SRC", "ip", required = true},
  {"SPORT", "named_port", required = true, protocol = "tcp"},
  {"DST", "ip", required = true},
  {"DPORT", "named_port", required = true, protocol = "tcp"},
  {"SEQNO", "unsigned", required = true}, {"ACKNO", "unsigned", required = true},
  {"FLAGS", "unsigned", required = true, max = 255},
  {"COUNT", "unsigned", default = 1}, {"STOP", "bool", default = false},
}

local DONT_FRAGMENT, WINDOW = swap16(0x4000), swap16(32120)

local function make_tcp(a)
  local p = packet.resize(packet.allocate(), IP_HEADER + TCP_HEADER)
  note.clear(p)
  local ip = p.data
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  halves[0], halves[1], halves[3] = FIRST, swap16(p.length), DONT_FRAGMENT
  halves[4] = life(TCP_TTL, TCP)
  words[3], words[4] = wire.word_of(a.SRC), wire.word_of(a.DST)
  halves[5] = C.pg_checksum_word(ip, IP_HEADER)
  halves[10], halves[11] = swap16(a.SPORT), swap16(a.DPORT)
  words[6], words[7] = wire.word_of(a.SEQNO), wire.word_of(a.ACKNO)
  ip[32], ip[33], halves[17] = 0x50, a.FLAGS, WINDOW
  halves[18] = C.pg_ip4_l4_checksum(ip, ip + IP_HEADER, TCP_HEADER)
  p.note16[NETWORK], p.note16[TRANSPORT] = p.data_off, p.data_off + IP_HEADER
  return p
end

TCPIPSend.handlers = {send = {write = function (e, text)
  local a
  local problem = e.router:collect(e, function ()
    a = arguments.parse(SEND, text_of.words(text), e)
  end)
  if problem then return problem end
  for _ = 1, a.COUNT do e.emit(1, make_tcp(a)) end
  if a.STOP then e.router:stop() end
end}}

return {UDPIPEncap, RandomUDPIPEncap, DynamicUDPIPEncap, TCPIPSend}
