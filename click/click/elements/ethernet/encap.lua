-- SPDX-License-Identifier: Apache-2.0
-- Ethernet headers: put before packets, changed, and made sure of.

local bit = require("bit")
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local keywords = require("click.router.keywords")
local note = require("click.note")
local wire = require("click.net.wire")

local barrier = wire.barrier
local band, cast = bit.band, ffi.cast
local open, cut = front.open, front.cut
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local MAC, NETWORK = note.MAC_HEADER, note.NETWORK_HEADER
local HEADER, ADDRESSES = 14, 12 -- bytes
local IP4, IP6 = wire.swap16(ether_type.IP4), wire.swap16(ether_type.IP6)

-- The first three words of a header, from its addresses.
local function set_addresses(e, source, destination)
  e.source, e.destination = source, destination
  local addresses = destination .. source
  e.word0, e.word1, e.word2 =
    wire.word(addresses), wire.word(addresses, 4), wire.word(addresses, 8)
end

local function source_text(e) return wire.eth_text(e.source) end
local function destination_text(e) return wire.eth_text(e.destination) end

-- EtherEncap -----------------------------------------------------------------------

local EtherEncap = element.define{
  name = "EtherEncap", summary = "encapsulates packets in Ethernet header",
  division = "any", live = true,
  arguments = {
    {"ETHERTYPE", "unsigned", required = true, max = 0xffff},
    {"SRC", "eth", required = true},
    {"DST", "eth", required = true},
  },
  drops = {"too long"}, reads = {}, lengthens = HEADER,
}

function EtherEncap:configure(a)
  self.ethertype = wire.swap16(a.ETHERTYPE)
  set_addresses(self, a.SRC, a.DST)
end

local function ethertype_text(e) return ("%d"):format(wire.swap16(e.ethertype)) end

EtherEncap.handlers = {
  src = keywords.handler("SRC", 2, source_text),
  dst = keywords.handler("DST", 3, destination_text),
  ethertype = keywords.handler("ETHERTYPE", 1, ethertype_text),
  etht = keywords.handler("ETHERTYPE", 1, ethertype_text),
}

function EtherEncap:process(p)
  if not open(p, HEADER) then return nil, 1 end
  local words, n, at = cast(words_t, p.data), p.note16, p.data_off
  words[0], words[1], words[2] = self.word0, self.word1, self.word2
  cast(halves_t, words)[6] = self.ethertype
  barrier()
  n[MAC], n[NETWORK] = at, at + HEADER
  return p
end

function EtherEncap:make_process()
  local word0, word1, word2, kind = self.word0, self.word1, self.word2, self.ethertype
  return function (_, p)
    if not open(p, HEADER) then return nil, 1 end
    local words, n, at = cast(words_t, p.data), p.note16, p.data_off
    words[0], words[1], words[2] = word0, word1, word2
    cast(halves_t, words)[6] = kind
    barrier()
    n[MAC], n[NETWORK] = at, at + HEADER
    return p
  end
end

-- EtherRewrite ---------------------------------------------------------------------

local EtherRewrite = element.define{
  name = "EtherRewrite", summary = "rewrite source and destination Ethernet address",
  division = "any", live = true,
  arguments = {{"SRC", "eth", required = true}, {"DST", "eth", required = true}},
  drops = {"too short"}, reads = {"MAC_HEADER"}, lengthens = 0,
}

function EtherRewrite:configure(a) set_addresses(self, a.SRC, a.DST) end

EtherRewrite.handlers = {
  src = keywords.handler("SRC", 1, source_text),
  dst = keywords.handler("DST", 2, destination_text),
}

-- Where no MAC header is known, the packet begins with it.
function EtherRewrite:process(p)
  local at, start = p.note16[MAC], p.data_off
  if at == 0 then at = start end
  if at + ADDRESSES > start + p.length then return nil, 1 end
  local words = cast(words_t, p.buf_addr + at)
  words[0], words[1], words[2] = self.word0, self.word1, self.word2
  barrier()
  return p
end

-- EtherMirror ----------------------------------------------------------------------

local EtherMirror = element.define{
  name = "EtherMirror", summary = "swaps Ethernet source and destination",
  division = "any",
  drops = {"too short"}, reads = {}, lengthens = 0,
}

local function mirror(_, p)
  if p.length < ADDRESSES then return nil, 1 end
  local words, halves = cast(words_t, p.data), cast(halves_t, p.data)
  local a, b = words[0], halves[2]
  local c, d = halves[3], words[2]
  halves[0], halves[1], halves[2] = c, band(d, 0xffff), bit.rshift(d, 16)
  cast(words_t, halves + 3)[0], halves[5] = a, b
  barrier()
  return p
end
EtherMirror.process = mirror

function EtherMirror.make_process() return mirror end

-- EnsureEther ----------------------------------------------------------------------

local EnsureEther = element.define{
  name = "EnsureEther", summary = "ensures that IP packets are Ethernet encapsulated",
  division = "any",
  arguments = {
    {"ETHERTYPE", "unsigned", default = ether_type.IP4, max = 0xffff},
    {"SRC", "eth", default = ("\1"):rep(6)},
    {"DST", "eth", default = ("\2"):rep(6)},
  },
  drops = {"too long"},
}

EnsureEther.configure = EtherEncap.configure

local function is_ip_frame(pointer)
  local kind = cast(halves_t, pointer)[6]
  return kind == IP4 or kind == IP6
end

-- What isn't known to be IP passes, as does what has an Ethernet header; one that has
-- been taken off comes back.
function EnsureEther:process(p)
  local at = p.note16[NETWORK]
  if at == 0 then return p end
  local offset = at - p.data_off
  if offset < 0 then return p end
  if offset == HEADER and p.length >= HEADER and is_ip_frame(p.data) then return p end
  if offset == 0 and p.data_off >= HEADER and is_ip_frame(p.data - HEADER) then
    if not open(p, HEADER) then return nil, 1 end
    return p
  end
  cut(p, offset)
  local q, o = EtherEncap.process(self, p)
  return q, o
end

return {EtherEncap, EtherRewrite, EtherMirror, EnsureEther}
