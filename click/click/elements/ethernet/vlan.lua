-- SPDX-License-Identifier: Apache-2.0
-- VLAN tags (IEEE 802.1Q): four bytes behind the addresses, of which the last two, the
-- tag control information, are priority and VLAN. The annotation VLAN_TCI holds those.

local bit = require("bit")
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local keywords = require("click.router.keywords")
local note = require("click.note")
local numbers = require("click.arguments.numbers")
local wire = require("click.net.wire")

local barrier = wire.barrier
local band = bit.band
local open, cut = front.open, front.cut
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local MAC, NETWORK, TCI = note.MAC_HEADER, note.NETWORK_HEADER, note.VLAN_TCI
local HEADER, TAG, TAGGED, ADDRESSES = 14, 4, 18, 12 -- bytes
local TAG_TYPE = wire.swap16(ether_type.VLAN)
local VLAN = wire.swap16(0x0fff) -- the bits of the TCI that are the VLAN
local NONE = -1 -- no native VLAN: no VLAN is this
local PRIORITY = 8192

local MOST_VLAN, MOST_TCI, MOST_PRIORITY = 0xfff, 0xffff, 7

-- The arguments about tags; a TCI is a number or ANNO.
local function tag_arguments(...)
  local list = {...}
  list[#list + 1] = {"VLAN_TCI", "word"}
  list[#list + 1] = {"VLAN_PCP", "int", min = 0, max = MOST_PRIORITY, default = 0}
  list[#list + 1] = {"VLAN_ID", "int", min = 0, max = MOST_VLAN, default = 0,
                     keyword = true}
  return list
end

local function with_native(list)
  list[#list + 1] = {"NATIVE_VLAN", "int", min = NONE, max = MOST_VLAN, default = 0,
                     keyword = true}
  return list
end

-- Take the arguments of the tag: e.tci and e.native are halves. True if they are right.
local function set_tag(e, a)
  local id, from_note = a.VLAN_ID, a.VLAN_TCI == "ANNO"
  if a.VLAN_TCI and not from_note then
    local problem
    id, problem = numbers.int(a.VLAN_TCI, {min = 0, max = MOST_TCI})
    if not id then
      e:error("VLAN_TCI: %s", problem or "parse error")
      return false
    end
  end
  e.from_note = from_note
  e.tci = wire.swap16(bit.bor(id, a.VLAN_PCP * PRIORITY))
  local native = a.NATIVE_VLAN or NONE
  e.native = native >= 0 and wire.swap16(native) or NONE
  return true
end

local function tci_text(e)
  return e.from_note and "ANNO" or ("%d"):format(wire.swap16(e.tci))
end

local function id_text(e) return ("%d"):format(band(wire.swap16(e.tci), MOST_VLAN)) end

local function priority_text(e)
  return ("%d"):format(bit.rshift(wire.swap16(e.tci), 13))
end

local function native_text(e)
  return ("%d"):format(e.native < 0 and NONE or wire.swap16(e.native))
end

-- EtherVLANEncap -------------------------------------------------------------------

local EtherVLANEncap = element.define{
  name = "EtherVLANEncap", aliases = {"EtherVlanEncap"}, live = true,
  division = "any",
  summary = "encapsulates packets in 802.1Q VLAN Ethernet header",
  arguments = with_native(tag_arguments(
    {"ETHERTYPE", "unsigned", required = true, max = 0xffff},
    {"SRC", "eth", required = true}, {"DST", "eth", required = true})),
  drops = {"too long"},
}

function EtherVLANEncap:configure(a)
  if not set_tag(self, a) then return end
  local addresses = a.DST .. a.SRC
  self.source, self.destination = a.SRC, a.DST
  self.word0, self.word1, self.word2 =
    wire.word(addresses), wire.word(addresses, 4), wire.word(addresses, 8)
  self.ethertype = wire.swap16(a.ETHERTYPE)
end

EtherVLANEncap.handlers = {
  src = keywords.handler("SRC", 2, function (e) return wire.eth_text(e.source) end),
  dst = keywords.handler("DST", 3,
    function (e) return wire.eth_text(e.destination) end),
  ethertype = keywords.handler("ETHERTYPE", 1,
    function (e) return ("%d"):format(wire.swap16(e.ethertype)) end),
  vlan_tci = keywords.handler("VLAN_TCI", 4, tci_text),
  vlan_id = keywords.handler("VLAN_ID", nil, id_text),
  vlan_pcp = keywords.handler("VLAN_PCP", 5, priority_text),
  native_vlan = keywords.handler("NATIVE_VLAN", nil, native_text),
}

function EtherVLANEncap:process(p)
  local n, tci = p.note16, self.tci
  if self.from_note then tci = n[TCI] end
  local size = TAGGED
  if band(tci, VLAN) == self.native then size = HEADER end
  if not open(p, size) then return nil, 1 end
  local words, at = ffi.cast(words_t, p.data), p.data_off
  local halves = ffi.cast(halves_t, words)
  words[0], words[1], words[2] = self.word0, self.word1, self.word2
  if size == TAGGED then
    halves[6], halves[7], halves[8] = TAG_TYPE, tci, self.ethertype
  else
    halves[6] = self.ethertype
  end
  barrier()
  n[MAC], n[NETWORK] = at, at + size
  return p
end

-- VLANEncap ------------------------------------------------------------------------

local VLANEncap = element.define{
  name = "VLANEncap", summary = "add VLAN information to Ethernet packets",
  division = "any",
  arguments = with_native(tag_arguments()),
  drops = {"too short", "too long"},
}
table.insert(VLANEncap.arguments,
  {"ETHERTYPE", "unsigned", default = ether_type.VLAN, max = 0xffff, keyword = true})

function VLANEncap:configure(a)
  if set_tag(self, a) then self.tag_type = wire.swap16(a.ETHERTYPE) end
end

VLANEncap.handlers = {
  vlan_tci = keywords.handler("VLAN_TCI", 1, tci_text),
  vlan_id = keywords.handler("VLAN_ID", nil, id_text),
  vlan_pcp = keywords.handler("VLAN_PCP", 2, priority_text),
  native_vlan = keywords.handler("NATIVE_VLAN", nil, native_text),
  ethertype = keywords.handler("ETHERTYPE"),
}

function VLANEncap:process(p)
  local n, tci = p.note16, self.tci
  if self.from_note then tci = n[TCI] end
  if band(tci, VLAN) == self.native then
    n[MAC], n[NETWORK] = p.data_off, p.data_off + HEADER
    return p
  end
  if p.length < ADDRESSES then return nil, 1 end
  if not open(p, TAG) then return nil, 2 end
  local words, at = ffi.cast(words_t, p.data), p.data_off
  local halves = ffi.cast(halves_t, words)
  words[0], words[1], words[2] = words[1], words[2], words[3]
  halves[6], halves[7] = self.tag_type, tci
  barrier()
  n[MAC], n[NETWORK] = at, at + TAGGED
  return p
end

-- VLANDecap ------------------------------------------------------------------------

local VLANDecap = element.define{
  name = "VLANDecap", summary = "remove VLAN encapsulation from Ethernet packets",
  division = "any",
  arguments = {
    {"ANNO", "bool", default = true},
    {"ETHERTYPE", "unsigned", default = ether_type.VLAN, max = 0xffff, keyword = true},
  },
  drops = {"too short"},
}

function VLANDecap:configure(a)
  self.to_note, self.tag_type = a.ANNO, wire.swap16(a.ETHERTYPE)
end

function VLANDecap:process(p)
  if p.length < HEADER then return nil, 1 end
  local n, tci = p.note16, 0
  local words = ffi.cast(words_t, p.data)
  local halves = ffi.cast(halves_t, words)
  if halves[6] == self.tag_type then
    if p.length < TAGGED then return nil, 1 end
    tci = halves[7]
    words[3], words[2], words[1] = words[2], words[1], words[0]
    barrier()
    cut(p, TAG)
  end
  n[MAC], n[NETWORK] = p.data_off, p.data_off + HEADER
  if self.to_note then n[TCI] = tci end
  return p
end

-- SetVLANAnno ----------------------------------------------------------------------

local SetVLANAnno = element.define{
  name = "SetVLANAnno", aliases = {"SetVlanAnno"}, live = true,
  division = "any",
  summary = "sets VLAN annotation", arguments = tag_arguments(),
}

function SetVLANAnno:configure(a) set_tag(self, a) end

SetVLANAnno.handlers = {
  vlan_tci = keywords.handler("VLAN_TCI", 1, tci_text),
  vlan_id = keywords.handler("VLAN_ID", nil, id_text),
  vlan_pcp = keywords.handler("VLAN_PCP", 2, priority_text),
}

function SetVLANAnno:process(p)
  p.note16[TCI] = self.tci
  return p
end

-- StripEtherVLANHeader -------------------------------------------------------------

local StripEtherVLANHeader = element.define{
  name = "StripEtherVLANHeader", aliases = {"StripEtherVlanHeader"}, live = true,
  division = "any",
  summary = "strips 802.1Q VLAN Ethernet header", ports = "1/1-2", processing = "a/ah",
  arguments = {{"NATIVE_VLAN", "int", default = 0}},
  drops = {"too short", "no VLAN"},
}

function StripEtherVLANHeader:configure(a)
  if a.NATIVE_VLAN > MOST_VLAN then return self:error("bad NATIVE_VLAN") end
  self.native = a.NATIVE_VLAN >= 0 and wire.swap16(a.NATIVE_VLAN) or NONE
end

function StripEtherVLANHeader:process(p)
  if p.length < HEADER then return nil, 1 end
  local halves = ffi.cast(halves_t, p.data)
  if halves[6] == TAG_TYPE then
    if p.length < TAGGED then return nil, 1 end
    p.note16[TCI] = halves[7]
    cut(p, TAGGED)
    return p
  end
  local native = self.native
  if native < 0 then
    if self.noutputs == 2 then return p, 2 end
    return nil, 2
  end
  p.note16[TCI] = native
  cut(p, HEADER)
  return p
end

return {EtherVLANEncap, VLANEncap, VLANDecap, SetVLANAnno, StripEtherVLANHeader}
