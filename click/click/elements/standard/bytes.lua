-- SPDX-License-Identifier: Apache-2.0
-- Elements that change a packet's bytes, or where it begins and ends.

local configure = require("click.router.configure")
local element = require("click.element")
local ffi = require("ffi")
local front = require("click.net.front")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local barrier = wire.barrier
local band, bor, bnot = bit.band, bit.bor, bit.bnot
local copy, fill = ffi.copy, ffi.fill
local open, cut = front.open, front.cut
local EXTRA_LENGTH, NETWORK_HEADER = note.EXTRA_LENGTH, note.NETWORK_HEADER
local MOST = packet.max_payload

-- The beginning ------------------------------------------------------------

local LENGTH_ARGUMENT = {{"LENGTH", "unsigned", required = true}}

local function take_length(self, a) self.length = a.LENGTH end

local Strip = element.define{
  name = "Strip", summary = "removes bytes from the front of packets",
  division = "any",
  arguments = LENGTH_ARGUMENT, drops = {"too short"}, configure = take_length,
  lengthens = function (self) return -self.length end, reads = {},
}

function Strip:process(p)
  if not cut(p, self.length) then return nil, 1 end
  return p
end

function Strip:make_process()
  local n = self.length
  return function (_, p)
    if not cut(p, n) then return nil, 1 end
    return p
  end
end

local Unstrip = element.define{
  name = "Unstrip", summary = "puts stripped bytes back", arguments = LENGTH_ARGUMENT,
  division = "any",
  drops = {"no room"}, configure = take_length,
  lengthens = function (self) return self.length end, reads = {},
}

function Unstrip:process(p)
  if not open(p, self.length) then return nil, 1 end
  return p
end

function Unstrip:make_process()
  local n = self.length
  return function (_, p)
    if not open(p, n) then return nil, 1 end
    return p
  end
end

local StripToNetworkHeader = element.define{
  name = "StripToNetworkHeader", summary = "removes what is before the network header",
  division = "any",
  drops = {"no network header"},
}

function StripToNetworkHeader:process(p)
  local at = p.note16[NETWORK_HEADER]
  local n = at - p.data_off
  if at == 0 or n > p.length then return nil, 1 end
  p.data_off = at
  p.length = p.length - n
  return p
end

-- The end ------------------------------------------------------------------

local Truncate = element.define{
  name = "Truncate", summary = "cuts packets to a length",
  division = "any", live = true,
  arguments = {
    {"LENGTH", "unsigned", required = true},
    {"EXTRA_LENGTH", "bool", default = true, keyword = true},
  },
  handlers = {nbytes = element.data("length", "unsigned")},
}

function Truncate:configure(a)
  self.length, self.notes = a.LENGTH, a.EXTRA_LENGTH
end

function Truncate:process(p)
  local rest = p.length - self.length
  if rest > 0 then
    if self.notes then p.note32[EXTRA_LENGTH] = p.note32[EXTRA_LENGTH] + rest end
    p.length = self.length
  end
  return p
end

local random = math.random

local function fill_randomly(data, n)
  for k = 0, n - 1 do data[k] = random(0, 255) end
end

local Pad = element.define{
  name = "Pad", summary = "makes packets longer", drops = {"too long"},
  division = "any", live = true,
  arguments = {
    {"LENGTH", "unsigned", default = 0},
    {"ZERO", "bool", default = true, keyword = true},
    {"RANDOM", "bool", default = false, keyword = true},
    {"MAXLENGTH", "unsigned", default = 0, keyword = true},
    {"VERBOSE", "bool", default = false, keyword = true},
  },
}

function Pad:configure(a)
  self.length, self.zero, self.random, self.verbose = a.LENGTH, a.ZERO, a.RANDOM,
    a.VERBOSE
  self.most = a.MAXLENGTH > 0 and a.MAXLENGTH or math.huge
end

-- How many bytes to add.
local function missing(self, p)
  local length = p.length
  local n = p.note32[EXTRA_LENGTH]
  if self.length > 0 then n = math.max(0, self.length - length) end
  if length + n > self.most then
    if self.verbose then
      self:say("%s: %d + %d bytes are more than MAXLENGTH %d", self.name, length, n,
        self.most)
    end
    n = math.max(0, self.most - length)
  end
  return n
end

function Pad:process(p)
  local n, length = missing(self, p), p.length
  if length + n > MOST then return nil, 1 end
  if n > 0 then
    p.length = length + n
    if self.zero then fill(p.data + length, n) end
    if self.random then fill_randomly(p.data + length, n) end
    barrier()
  end
  p.note32[EXTRA_LENGTH] = 0
  return p
end

-- The contents -------------------------------------------------------------

local function bytes_of(text)
  local bytes = ffi.new("uint8_t[?]", #text + 1)
  copy(bytes, text, #text)
  return bytes
end

local StoreData = element.define{
  name = "StoreData", summary = "writes bytes into packets", drops = {"too long"},
  division = "any", readdresses = true,
  arguments = {
    {"OFFSET", "unsigned", required = true, max = MOST},
    {"DATA", "data", required = true},
    {"MASK", "data"},
    {"GROW", "bool", default = false, keyword = true},
  },
}

function StoreData:configure(a)
  if a.MASK and #a.MASK > #a.DATA then
    return self:error("MASK must be no longer than DATA")
  end
  self.offset, self.grow, self.size = a.OFFSET, a.GROW, #a.DATA
  self.bytes = bytes_of(a.DATA)
  self.mask, self.masked = a.MASK and bytes_of(a.MASK), a.MASK and #a.MASK or 0
end

local function store_masked(self, data, n)
  for k = 0, math.min(n, self.masked) - 1 do
    local m = self.mask[k]
    data[k] = bor(band(data[k], bnot(m)), band(self.bytes[k], m))
  end
  if n > self.masked then
    copy(data + self.masked, self.bytes + self.masked, n - self.masked)
  end
end

function StoreData:process(p)
  local offset, n, length = self.offset, self.size, p.length
  if length <= offset then return p end
  if offset + n > length then
    if not self.grow then
      n = length - offset
    elseif offset + n > MOST then
      return nil, 1
    else
      p.length = offset + n
    end
  end
  if self.mask then store_masked(self, p.data + offset, n)
  else copy(p.data + offset, self.bytes, n) end
  barrier()
  return p
end

local MoveData = element.define{
  name = "MoveData", summary = "copies bytes within packets", drops = {"too long"},
  division = "any", readdresses = true,
  arguments = {
    {"DST_OFFSET", "unsigned", required = true, max = MOST},
    {"SRC_OFFSET", "unsigned", required = true, max = MOST},
    {"LENGTH", "unsigned", required = true, max = MOST},
    {"GROW", "bool", default = false, keyword = true},
  },
}

function MoveData:configure(a)
  self.to, self.from, self.size = a.DST_OFFSET, a.SRC_OFFSET, a.LENGTH
  self.grow = a.GROW
end

ffi.cdef("void *memmove(void *, const void *, size_t);")
local memmove = ffi.C.memmove

function MoveData:process(p)
  local length, ends = p.length, self.to + self.size
  if length <= self.from + self.size then return p end
  if ends > length then
    if not self.grow then return p end
    if ends > MOST then return nil, 1 end
    p.length = ends
  end
  memmove(p.data + self.to, p.data + self.from, self.size)
  return p
end

-- What Perigee's packets need no care for ----------------------------------

-- Where a packet's memory is, or how its bytes are aligned, is the engine's matter.
local function define_needless(name, summary, arguments)
  local class = element.define{name = name, summary = summary, arguments = arguments,
    division = "any"}
  function class:process(p) return p end
  return class
end

local EnsureDPDKBuffer = define_needless("EnsureDPDKBuffer",
  "does nothing: all packets are DPDK's", {
    {"FORCE_COPY", "bool", default = false},
    {"EXTRA_HEADROOM", "int", default = 0},
    {"FAIL", "bool", default = false, keyword = true},
    {"FORCE", "bool", default = false, keyword = true},
  })

function EnsureDPDKBuffer:configure(a)
  if a.FORCE_COPY and a.FAIL then
    self:error("You cannot have both FORCE_COPY and FAIL at the same time")
  end
end

local EnsureHeadroom = define_needless("EnsureHeadroom",
  "does nothing: packets make room when it is needed", {
    {"HEADROOM", "unsigned", default = 0}, {"FORCE_SHRINK", "bool", default = false},
  })
local Align = define_needless("Align",
  "does nothing: bytes may be read wherever they are", {
    {"MODULUS", "unsigned", required = true}, {"OFFSET", "unsigned", required = true},
  })

function Align:configure(a)
  local modulus = a.MODULUS
  if modulus ~= 2 and modulus ~= 4 and modulus ~= 8 then
    self:error("MODULUS must be 2, 4, or 8")
  elseif a.OFFSET >= modulus then
    self:error("OFFSET must be smaller than MODULUS")
  end
end

-- Too long? ----------------------------------------------------------------

local CheckLength = element.define{
  name = "CheckLength", summary = "drops packets that are too long", ports = "1/1-2",
  division = "any",
  processing = "a/ah", drops = {"too long"}, live = true,
  arguments = {
    {"LENGTH", "unsigned", required = true},
    {"EXTRA_LENGTH", "bool", default = false, keyword = true},
  },
  handlers = {length = {read = element.data("length").read,
                        write = configure.keyword("LENGTH", 1)}},
}

function CheckLength:configure(a) self.length, self.extra = a.LENGTH, a.EXTRA_LENGTH end

function CheckLength:process(p)
  local length = p.length
  if self.extra then length = length + p.note32[EXTRA_LENGTH] end
  if length <= self.length then return p end
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

return {Strip, Unstrip, StripToNetworkHeader, Truncate, Pad, StoreData, MoveData,
        EnsureDPDKBuffer, EnsureHeadroom, Align, CheckLength}
