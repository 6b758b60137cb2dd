-- SPDX-License-Identifier: Apache-2.0
-- UDPIP6Encap: UDP and IPv6 headers put before packets.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local arguments = require("click.arguments")
local element = require("click.element")
local front = require("click.net.front")
local keywords = require("click.router.keywords")
local note = require("click.note")
local wire = require("click.net.wire")
require("click.classification.ip.named")

local halves_t = ffi.typeof("uint16_t *")
local swap16, barrier = wire.swap16, wire.barrier
local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local TO = note.DST_IP6 -- where the annotation of the destination begins
local HEADER, UDP_HEADER, ADDRESS = 40, 8, 16 -- bytes
local LENGTH, NEXT, HOP_LIMIT, SOURCE, DESTINATION = 4, 6, 7, 8, 24 -- offsets
local UDP, VERSION, MOST_HOPS = 17, 0x60, 255
local HEADERS = HEADER + UDP_HEADER
local FROM_NOTE = "DST_ANNO"
local ZERO = ("\0"):rep(ADDRESS)

local UDPIP6Encap = element.define{
  name = "UDPIP6Encap", summary = "encapsulates packets in static UDP/IPv6 headers",
  live = true, drops = {"too long"}, reads = {"DST_IP6"}, lengthens = HEADERS,
  arguments = {
    {"SRC", "ip6", required = true},
    {"SPORT", "named_port", required = true, protocol = "udp"},
    {"DST", "argument", required = true},
    {"DPORT", "named_port", required = true, protocol = "udp"},
  },
}

function UDPIP6Encap:configure(a)
  local from_note = a.DST == FROM_NOTE
  local destination = from_note and ZERO or arguments.types.ip6(a.DST, {}, self)
  if not destination then return self:error("bad DST") end
  local header = ffi.new("uint8_t[48]")
  local udp = ffi.cast(halves_t, header + HEADER)
  header[0], header[NEXT], header[HOP_LIMIT] = VERSION, UDP, MOST_HOPS
  ffi.copy(header + SOURCE, a.SRC, ADDRESS)
  ffi.copy(header + DESTINATION, destination, ADDRESS)
  udp[0], udp[1] = swap16(a.SPORT), swap16(a.DPORT)
  self.header, self.from_note = header, from_note
end

local function port_text(i)
  return function (e)
    return ("%d"):format(swap16(ffi.cast(halves_t, e.header + HEADER)[i]))
  end
end

UDPIP6Encap.handlers = {
  src = keywords.handler("SRC", 1, function (e)
    return wire.ip6_text(e.header + SOURCE)
  end),
  sport = keywords.handler("SPORT", 2, port_text(0)),
  dst = keywords.handler("DST", 3, function (e)
    return e.from_note and FROM_NOTE or wire.ip6_text(e.header + DESTINATION)
  end),
  dport = keywords.handler("DPORT", 4, port_text(1)),
}

function UDPIP6Encap:process(p)
  if not front.open(p, HEADERS) then return nil, 1 end
  local ip6, n, at, size = p.data, p.note16, p.data_off, p.length - HEADER
  ffi.copy(ip6, self.header, HEADERS)
  if self.from_note then ffi.copy(ip6 + DESTINATION, p.note8 + TO, ADDRESS)
  else ffi.copy(p.note8 + TO, ip6 + DESTINATION, ADDRESS) end
  local udp = ffi.cast(halves_t, ip6 + HEADER)
  ffi.cast(halves_t, ip6 + LENGTH)[0], udp[2] = swap16(size), swap16(size)
  C.pg_ip6_l4_set(ip6, ip6 + HEADER, size, UDP)
  barrier()
  n[NETWORK], n[TRANSPORT] = at, at + HEADER
  return p
end

return {UDPIP6Encap}
