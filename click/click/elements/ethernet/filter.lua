-- SPDX-License-Identifier: Apache-2.0
-- To whom frames were sent, and where their headers are.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local band = bit.band
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local TYPE, HOST, BROADCAST, MULTICAST, OTHERHOST =
  note.PACKET_TYPE, note.HOST, note.BROADCAST, note.MULTICAST, note.OTHERHOST
local HEADER = 14
local GROUP = 0x01 -- in the first byte of a destination

-- HostEtherFilter ------------------------------------------------------------------

local HostEtherFilter = element.define{
  name = "HostEtherFilter", live = true, ports = "1/1-2", processing = "a/ah",
  division = "any",
  summary = "drops Ethernet packets sent to other machines",
  arguments = {
    {"ETHER", "eth", required = true},
    {"DROP_OWN", "bool", default = false},
    {"DROP_OTHER", "bool", default = true},
    {"OFFSET", "unsigned", default = 0, keyword = true},
  },
  drops = {"too short", "own", "for another host"},
}

local function set_address(e, address)
  e.address, e.word, e.half = address, wire.word(address), wire.half(address, 4)
end

function HostEtherFilter:configure(a)
  set_address(self, a.ETHER)
  self.drop_own, self.drop_other, self.offset = a.DROP_OWN, a.DROP_OTHER, a.OFFSET
end

HostEtherFilter.handlers = {
  ether = {
    read = function (e) return wire.eth_text(e.address) end,
    write = function (e, text)
      local address = types.eth(text, {}, e)
      if not address then return "expected Ethernet address" end
      set_address(e, address)
    end,
  },
}

function HostEtherFilter:process(p)
  if p.length < self.offset + HEADER then return nil, 1 end
  local words = ffi.cast(words_t, p.data + self.offset)
  local halves, n = ffi.cast(halves_t, words), p.note8
  local word, half = self.word, self.half
  if self.drop_own and halves[5] == half
    and ffi.cast(words_t, halves + 3)[0] == word then
    if self.noutputs == 2 then return p, 2 end
    return nil, 2
  end
  if words[0] == word and halves[2] == half then
    n[TYPE] = HOST
    return p
  end
  if band(p.data[self.offset], GROUP) ~= 0 then
    n[TYPE] = words[0] == -1 and halves[2] == 0xffff and BROADCAST or MULTICAST
    return p
  end
  n[TYPE] = OTHERHOST
  if not self.drop_other then return p end
  if self.noutputs == 2 then return p, 2 end
  return nil, 3
end

-- DropBroadcasts -------------------------------------------------------------------

local DropBroadcasts = element.define{
  name = "DropBroadcasts", ports = "1/1-2", processing = "a/ah",
  division = "any",
  summary = "drops link-level broadcast and multicast packets",
  drops = {"broadcast"}, reads = {"PACKET_TYPE"}, lengthens = 0,
}

function DropBroadcasts:configure() self.count = 0 end

DropBroadcasts.handlers = {
  drops = {read = function (e) return ("%d"):format(e.count) end},
}

local function drop(e, p)
  if e.count == 0 then e:say("DropBroadcasts: dropped a packet") end
  e.count = e.count + 1
  if e.noutputs == 2 then return p, 2 end
  return nil, 1
end

function DropBroadcasts:process(p)
  local kind = p.note8[TYPE]
  if kind ~= BROADCAST and kind ~= MULTICAST then return p end
  local q, o = drop(self, p)
  return q, o
end

function DropBroadcasts:make_process()
  return function (_, p)
    local kind = p.note8[TYPE]
    if kind ~= BROADCAST and kind ~= MULTICAST then return p end
    local q, o = drop(self, p)
    return q, o
  end
end

-- MarkMACHeader --------------------------------------------------------------------

local MarkMACHeader = element.define{
  name = "MarkMACHeader", live = true, summary = "sets MAC header annotation",
  division = "any",
  arguments = {
    {"OFFSET", "unsigned", default = 0, max = 0xffff},
    {"LENGTH", "unsigned", default = 0, max = 0xffff},
  },
  drops = {"too short"},
}

function MarkMACHeader:configure(a) self.offset, self.size = a.OFFSET, a.LENGTH end

function MarkMACHeader:process(p)
  local offset, size, n = self.offset, self.size, p.note16
  if offset > p.length then return nil, 1 end
  local at = p.data_off + offset
  n[note.MAC_HEADER] = at
  if size ~= 0 then n[note.NETWORK_HEADER] = at + size end
  return p
end

-- TruncateFCS ----------------------------------------------------------------------

local TruncateFCS = element.define{
  name = "TruncateFCS", summary = "cuts frames' check sequences off",
  division = "any", live = true,
  arguments = {{"EXTRA_LENGTH", "bool", default = true, keyword = true}},
  drops = {"too short"},
}

function TruncateFCS:configure(a) self.of_note = a.EXTRA_LENGTH end

local FCS = 4 -- bytes

function TruncateFCS:process(p)
  local extra = p.note32[note.EXTRA_LENGTH]
  if self.of_note and extra > FCS then
    p.note32[note.EXTRA_LENGTH] = extra - FCS
    return p
  end
  if p.length < FCS then return nil, 1 end
  p.length = p.length - FCS
  return p
end

return {HostEtherFilter, DropBroadcasts, MarkMACHeader, TruncateFCS}
