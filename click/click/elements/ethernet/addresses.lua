-- SPDX-License-Identifier: Apache-2.0
-- Ethernet addresses between packets and their annotations.

local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local numbers = require("click.arguments.numbers")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local reject = element.reject
local barrier = wire.barrier
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local FIRST, ADDRESS = note.FIRST, 6
local NAMED_OFFSETS = {src = 6, dst = 0}

local function copy(to, from)
  ffi.cast(words_t, to)[0] = ffi.cast(words_t, from)[0]
  ffi.cast(halves_t, to)[2] = ffi.cast(halves_t, from)[2]
  barrier()
end

-- Where the argument says: src, dst, or a number of bytes.
local function set_offset(e, text)
  local offset = NAMED_OFFSETS[text:lower()] or numbers.unsigned(text, {max = 0xffff})
  if not offset then return e:error("type mismatch: bad OFFSET") end
  e.offset = offset
end

-- The address that a class sets, e.address, is to be had and changed by a handler.
local ADDRESS_HANDLER = {
  read = function (e) return wire.eth_text(e.address) end,
  write = function (e, text)
    local address = types.eth(text, {}, e)
    if not address then return "expected Ethernet address" end
    e:set(address)
  end,
}

local function set(e, address)
  e.address, e.word, e.half = address, wire.word(address), wire.half(address, 4)
end

local GetEtherAddress = element.define{
  name = "GetEtherAddress", ports = "1/1-2",
  division = "any", live = true,
  summary = "sets Ethernet address annotation from packet data",
  arguments = {
    {"ANNO", "anno", required = true, size = ADDRESS},
    {"OFFSET", "word", required = true},
  },
  drops = {"too short"},
}

function GetEtherAddress:configure(a)
  set_offset(self, a.OFFSET)
  self.at = FIRST + a.ANNO
end

function GetEtherAddress:process(p)
  if self.offset + ADDRESS > p.length then
    local q, o = reject(self, p)
    return q, o
  end
  copy(p.note8 + self.at, p.data + self.offset)
  return p
end

local SetEtherAddress = element.define{
  name = "SetEtherAddress", summary = "sets Ethernet address annotations",
  division = "any", live = true,
  arguments = {
    {"ADDR", "eth", required = true},
    {"ANNO", "anno", required = true, size = ADDRESS},
  },
  handlers = {addr = ADDRESS_HANDLER}, set = set,
}

function SetEtherAddress:configure(a)
  self:set(a.ADDR)
  self.at = FIRST + a.ANNO
end

function SetEtherAddress:process(p)
  local to = p.note8 + self.at
  ffi.cast(words_t, to)[0], ffi.cast(halves_t, to)[2] = self.word, self.half
  barrier()
  return p
end

local StoreEtherAddress = element.define{
  name = "StoreEtherAddress", ports = "1/1-2", processing = "a/ah",
  division = "any",
  summary = "stores Ethernet address in packet",
  arguments = {
    {"ADDR", "eth"}, {"OFFSET", "word", required = true},
    {"ANNO", "anno", keyword = true, size = ADDRESS},
  },
  drops = {"too short"},
  handlers = {addr = ADDRESS_HANDLER}, set = set,
}

function StoreEtherAddress:configure(a)
  if (a.ADDR ~= nil) == (a.ANNO ~= nil) then
    return self:error("must specify exactly one of ADDR/ANNO")
  end
  set_offset(self, a.OFFSET)
  self:set(a.ADDR or ("\0"):rep(ADDRESS))
  self.at = a.ANNO and FIRST + a.ANNO or nil
end

function StoreEtherAddress:process(p)
  if self.offset + ADDRESS > p.length then
    local q, o = reject(self, p)
    return q, o
  end
  local to, at = p.data + self.offset, self.at
  if at then
    copy(to, p.note8 + at)
  else
    ffi.cast(words_t, to)[0], ffi.cast(halves_t, to)[2] = self.word, self.half
    barrier()
  end
  return p
end

return {GetEtherAddress, SetEtherAddress, StoreEtherAddress}
