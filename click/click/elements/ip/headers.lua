-- SPDX-License-Identifier: Apache-2.0
-- Where IPv4 headers are: noted, taken off, and put back.

local bit = require("bit")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")

local band, lshift = bit.band, bit.lshift
local open, cut = front.open, front.cut
local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER

local MarkIPHeader = element.define{
  name = "MarkIPHeader", live = true, summary = "sets IP header annotation",
  division = "any",
  arguments = {{"OFFSET", "unsigned", default = 0, max = 0xffff}},
  drops = {"too short"},
}

function MarkIPHeader:configure(a) self.offset = a.OFFSET end

function MarkIPHeader:process(p)
  local offset, n = self.offset, p.note16
  if offset >= p.length then return nil, 1 end
  local at = p.data_off + offset
  n[NETWORK], n[TRANSPORT] = at, at + lshift(band(p.buf_addr[at], 15), 2)
  return p
end

local StripIPHeader = element.define{
  name = "StripIPHeader", summary = "strips outermost IP header",
  division = "any", readdresses = true,
  drops = {"no IP header"},
}

function StripIPHeader.process(_, p)
  local at = p.note16[TRANSPORT]
  local n = at - p.data_off
  if at == 0 or n < 0 or not cut(p, n) then return nil, 1 end
  return p
end

-- Open what was cut off behind the header.
local function unstrip(p, header)
  local at, start = p.note16[header], p.data_off
  if at ~= 0 and at < start then return (open(p, start - at)) end
  return true
end

local UnstripIPHeader = element.define{
  name = "UnstripIPHeader", summary = "restores outermost IP header",
  division = "any", readdresses = true,
  drops = {"too long"},
}

function UnstripIPHeader.process(_, p)
  if not unstrip(p, NETWORK) then return nil, 1 end
  return p
end

local UnstripTransportHeader = element.define{
  name = "UnstripTransportHeader", aliases = {"UnstripTCPHeader"},
  division = "any",
  summary = "restores the TCP, UDP or ICMP header", drops = {"too long"},
}

function UnstripTransportHeader.process(_, p)
  if not unstrip(p, TRANSPORT) then return nil, 1 end
  return p
end

local UnstripAnno = element.define{
  name = "UnstripAnno", drops = {"too long"},
  summary = "puts back as many bytes as an annotation says",
  arguments = {{"ANNO", "anno", size = 2}},
}

function UnstripAnno:configure(a)
  self.at = a.ANNO and note.FIRST + a.ANNO or 2 * note.PAINT2
end

function UnstripAnno:process(p)
  local n = p.note8[self.at] + lshift(p.note8[self.at + 1], 8) -- as hosts have it
  if n > p.data_off or not open(p, n) then return nil, 1 end
  return p
end

return {
  MarkIPHeader, StripIPHeader, UnstripIPHeader, UnstripTransportHeader, UnstripAnno,
}
