-- SPDX-License-Identifier: Apache-2.0
-- IPv6 headers (RFC 8200): checked, noted, and changed.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("native/ip.h")
local arguments = require("click.arguments")
local element = require("click.element")
local front = require("click.net.front")
local keywords = require("click.router.keywords")
local note = require("click.note")
local table6 = require("net.route.table6")
local wire = require("click.net.wire")
require("click.classification.ip.named")

local barrier = wire.barrier
local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local longs_t = ffi.typeof("uint64_t *")
local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local HEADER = 40 -- bytes
local NEXT, HOP_LIMIT, SOURCE, DESTINATION = 6, 7, 8, 24 -- offsets
local ADDRESS = 16
local TO = note.DST_IP6 -- where the annotation of the destination begins
local swap16 = wire.swap16

-- The packet's IPv6 header, if it is there.
local function header_of(p)
  local at = p.note16[NETWORK]
  if at == 0 or at + HEADER > p.data_off + p.length then return nil end
  return p.buf_addr + at
end

-- Copy an address.
local function copy(to, from)
  local a, b = ffi.cast(longs_t, to), ffi.cast(longs_t, from)
  a[0], a[1] = b[0], b[1]
end

-- CheckIP6Header -------------------------------------------------------------------

local CheckIP6Header = element.define{
  name = "CheckIP6Header", summary = "checks IPv6 header",
  division = "any",
  ports = "1/1-2", processing = "a/ah",
  arguments = {
    {"BADADDRS", "ip6", list = true}, {"OFFSET", "unsigned", default = 0, max = 0xffff},
    {"PROCESS_EH", "bool", default = false, keyword = true},
  },
  drops = {"bad IPv6 header"},
}

local ALL = ("\255"):rep(ADDRESS)

function CheckIP6Header:configure(a)
  local bad = {{address = ALL, length = 128}}
  for i, address in ipairs(a.BADADDRS or {}) do
    bad[i + 1] = {address = address, length = 128}
  end
  self.bad = table6.new(bad)
  self.offset, self.extensions = a.OFFSET, a.PROCESS_EH
  self.count, self.drops_here = 0, 0
end

-- Is that a header? Then the payload's length, else nil.
local function examine(self, ip6, length)
  if rshift(ip6[0], 4) ~= 6 then return nil end
  local payload = swap16(ffi.cast(halves_t, ip6)[2])
  if payload > length - HEADER then return nil end
  if C.pg_ip6_table_look_up(self.bad, ip6 + SOURCE) > 0 then return nil end
  return payload
end

local function fail(e, p)
  if e.drops_here == 0 then e:say("IP6 header check failed") end
  e.drops_here = e.drops_here + 1
  if e.noutputs == 2 then return p, 2 end
  return nil, 1
end

function CheckIP6Header:process(p)
  local offset, n = self.offset, p.note16
  local length = p.length - offset
  local ip6 = p.data + offset
  local payload = length >= HEADER and examine(self, ip6, length)
  if not payload then
    local q, o = fail(self, p)
    return q, o
  end
  local behind, kind = HEADER, ip6[NEXT]
  if self.extensions then
    local found = C.pg_ip6_transport(ip6, HEADER + payload)
    behind, kind = band(found, 0xffff), rshift(found, 16)
  end
  local at = p.data_off + offset
  n[NETWORK], n[TRANSPORT] = at, at + behind
  p.note8[note.IP6_NXT] = kind
  p.length = tobit(offset + HEADER + payload)
  self.count = self.count + 1
  return p
end

CheckIP6Header.handlers = {
  count = {read = function (e) return ("%d"):format(e.count) end},
  drops = {read = function (e) return ("%d"):format(e.drops_here) end},
}

-- MarkIP6Header --------------------------------------------------------------------

local MarkIP6Header = element.define{
  name = "MarkIP6Header", summary = "sets IPv6 header annotation",
  division = "any",
  arguments = {{"OFFSET", "unsigned", default = 0, max = 0xffff}},
}

function MarkIP6Header:configure(a) self.offset = a.OFFSET end

function MarkIP6Header:process(p)
  local n, at = p.note16, p.data_off + self.offset
  n[NETWORK], n[TRANSPORT] = at, at + HEADER
  return p
end

-- GetIP6Address, SetIP6Address -----------------------------------------------------

local GetIP6Address = element.define{
  name = "GetIP6Address",
  division = "any",
  summary = "sets destination IPv6 address annotation from packet data",
  arguments = {{"OFFSET", "unsigned", required = true}}, drops = {"too short"},
}

function GetIP6Address:configure(a) self.offset = a.OFFSET end

function GetIP6Address:process(p)
  if self.offset + ADDRESS > p.length then return nil, 1 end
  copy(p.note8 + TO, p.data + self.offset)
  barrier()
  return p
end

local SetIP6Address = element.define{
  name = "SetIP6Address", summary = "sets destination IPv6 address annotations",
  division = "any",
  arguments = {{"IPADDR", "ip6", required = true}},
}

function SetIP6Address:configure(a)
  self.address = ffi.new("uint8_t[16]")
  ffi.copy(self.address, a.IPADDR, ADDRESS)
end

function SetIP6Address:process(p)
  copy(p.note8 + TO, self.address)
  barrier()
  return p
end

-- DecIP6HLIM -----------------------------------------------------------------------

local DecIP6HLIM = element.define{
  name = "DecIP6HLIM", summary = "decrements IPv6 hop limit, drops dead packets",
  division = "any",
  ports = "1/1-2", processing = "a/ah", drops = {"expired", "no IPv6 header"},
}

function DecIP6HLIM:configure() self.expired = 0 end

local function expire(e, p)
  e.expired = e.expired + 1
  if e.noutputs == 2 then return p, 2 end
  return nil, 1
end

function DecIP6HLIM:process(p)
  local ip6 = header_of(p)
  if not ip6 then return nil, 2 end
  local limit = ip6[HOP_LIMIT]
  if limit <= 1 then
    local q, o = expire(self, p)
    return q, o
  end
  ip6[HOP_LIMIT] = tobit(limit - 1)
  barrier()
  return p
end

DecIP6HLIM.handlers = {
  drops = {read = function (e) return ("%d"):format(e.expired) end},
}

-- SetIP6DSCP -----------------------------------------------------------------------

local SetIP6DSCP = element.define{
  name = "SetIP6DSCP", live = true, summary = "sets IPv6 packets' DSCP fields",
  division = "any",
  arguments = {{"DSCP", "unsigned", required = true}}, drops = {"no IPv6 header"},
}

function SetIP6DSCP:configure(a)
  if a.DSCP > 0x3f then return self:error("diffserv code point out of range") end
  -- Behind the four bits of the version.
  self.high, self.low = rshift(a.DSCP, 2), lshift(band(a.DSCP, 3), 6)
end

SetIP6DSCP.handlers = {dscp = keywords.handler("DSCP", 1)}

function SetIP6DSCP:process(p)
  local ip6 = header_of(p)
  if not ip6 then return nil, 1 end
  ip6[0] = bor(band(ip6[0], 0xf0), self.high)
  ip6[1] = bor(band(ip6[1], 0x3f), self.low)
  barrier()
  return p
end

-- IP6Encap -------------------------------------------------------------------------

local IP6Encap = element.define{
  name = "IP6Encap", live = true,
  division = "any", readdresses = true,
  summary = "encapsulates packets in static IPv6 header",
  arguments = {
    {"PROTO", "ip_proto", required = true}, {"SRC", "ip6", required = true},
    {"DST", "argument", required = true},
    {"HLIM", "unsigned", default = 250, max = 255, keyword = true},
    {"CLASS", "unsigned", default = 0, max = 255, keyword = true},
  },
  drops = {"too long"},
}
local FROM_NOTE, ZERO = "DST_ANNO", ("\0"):rep(ADDRESS)

function IP6Encap:configure(a)
  self.from_note = a.DST == FROM_NOTE
  local destination = self.from_note and ZERO or arguments.types.ip6(a.DST, {}, self)
  if not destination then
    return self:error("DST argument should be IP address or 'DST_ANNO'")
  end
  self.header = ffi.new("uint8_t[40]")
  self.header[0] = bor(0x60, rshift(a.CLASS, 4))
  self.header[1] = lshift(band(a.CLASS, 15), 4)
  self.header[NEXT], self.header[HOP_LIMIT] = a.PROTO, a.HLIM
  ffi.copy(self.header + SOURCE, a.SRC, ADDRESS)
  ffi.copy(self.header + DESTINATION, destination, ADDRESS)
end

local function address_text(offset)
  return function (e)
    if offset == DESTINATION and e.from_note then return FROM_NOTE end
    return wire.ip6_text(e.header + offset)
  end
end

IP6Encap.handlers = {
  src = keywords.handler("SRC", 2, address_text(SOURCE)),
  dst = keywords.handler("DST", 3, address_text(DESTINATION)),
}

local function is_set(p)
  local longs = p.note64
  return longs[2] ~= 0 or longs[3] ~= 0
end

function IP6Encap:process(p)
  if not front.open(p, HEADER) then return nil, 1 end
  local ip6, n, at = p.data, p.note16, p.data_off
  ffi.copy(ip6, self.header, HEADER)
  ffi.cast(halves_t, ip6)[2] = swap16(p.length - HEADER)
  if self.from_note and is_set(p) then
    ffi.copy(ip6 + DESTINATION, p.note8 + TO, ADDRESS)
  else
    ffi.copy(p.note8 + TO, ip6 + DESTINATION, ADDRESS)
  end
  n[NETWORK], n[TRANSPORT] = at, at + HEADER
  return p
end

-- IP6Mirror ------------------------------------------------------------------------

local IP6Mirror = element.define{
  name = "IP6Mirror", summary = "swaps IPv6 source and destination",
  division = "any",
  drops = {"no IPv6 header"},
}
local TCP, UDP = 6, 17

function IP6Mirror.process(_, p)
  local ip6 = header_of(p)
  if not ip6 then return nil, 1 end
  local a, b = ffi.cast(longs_t, ip6 + SOURCE), ffi.cast(longs_t, ip6 + DESTINATION)
  a[0], a[1], b[0], b[1] = b[0], b[1], a[0], a[1]
  local behind = p.note16[TRANSPORT]
  if (ip6[NEXT] == TCP or ip6[NEXT] == UDP) and behind >= p.note16[NETWORK] + HEADER
    and behind + 8 <= p.data_off + p.length then
    local ports = ffi.cast(words_t, p.buf_addr + behind)
    ports[0] = bit.ror(ports[0], 16)
  end
  barrier()
  return p
end

return {CheckIP6Header, MarkIP6Header, GetIP6Address, SetIP6Address, DecIP6HLIM,
        SetIP6DSCP, IP6Encap, IP6Mirror}
