-- SPDX-License-Identifier: Apache-2.0
-- TCPReorder: passes the segments of each flow in the order of their stream, without
-- the TCPIn and TCPOut that change streams.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("net/stream/stream.h")
local drops = require("core.fuse.drops")
local element = require("click.element")
local packet = require("core.packet")
local state = require("click.flow.state")
local stream = require("click.flow.stream")

local band, tobit = bit.band, bit.tobit
local FIN, SYN, RST = stream.FIN, stream.SYN, stream.RST
local WAITING, WAITING_IN_ALL = 1024, 16384 -- segments, as TCPIn's
local WINDOW_MOST = 2 ^ 20 -- of numbers for a RST, as TCPIn's
local LONGEST_WAIT = 2 -- seconds: FastClick's
local NOT_TCP, NO_FLOW, NO_SYN, TWICE = 1, 2, 3, 4
local NO_ROOM, BAD_SUM, BEHIND_END = 5, 6, 7
local ENDED, WAITED_TOO_LONG = "its flow ended", "waited too long"

-- `next`: the number that is to come; `first`: the SYN's; `begun`: the one behind it;
-- `open`: 1 from the SYN on; `fin`: 1 behind a FIN. Areas with segments that wait are a
-- list, by the time `since` which nothing came in order.
local area_type = ffi.typeof([[struct {
  uint32_t next, first, begun;
  uint16_t open, fin;
  double since;
  void *older, *newer;
  struct stream_queue queue;
}]])
local pointer = ffi.typeof("$ *", area_type)

local TCPReorder = element.define{
  name = "TCPReorder", summary = "passes a flow's TCP segments in order",
  ports = "1/1-2", processing = "h/h", flow_state = area_type, emits = true,
  division = "flow", reads = {"NETWORK_HEADER", "FLOW_ID"}, fills_cache = true,
  drops = {"not TCP", "no flow", "no SYN before", "came twice", "no room to wait",
    "bad checksum", "behind the end", ENDED, WAITED_TOO_LONG},
  arguments = {
    {"MERGESORT", "bool", default = false},
    {"NOTIMEOUT", "bool", default = false},
    {"VERBOSE", "bool", default = false},
  },
  notes = [[
Behind a flow manager; a flow is one direction of a connection. It begins with a SYN:
other segments are dropped before it, but for RSTs. One that comes too early waits for
those before: up to 1,024 of a flow, and no more than all flows have left of 16,384
(handler `waiting`). It is dropped once it has waited 2 seconds without a segment in
order (never with NOTIMEOUT true), and when its flow ends: with a RST, another
connection's SYN, or by the flow manager. Behind a FIN in order nothing passes but what
comes again. Segments of which all came before leave by output 2; without it they are
dropped, so a segment that is lost behind is lost for good: connect output 2 there. Of a
segment of which some came before the rest passes, if its checksum is right. Segments
without data, SYN or FIN have no position in the order, and pass at once. A damaged
segment counts as come: put CheckTCPHeader in front where there may be some.]],
  differs = "FastClick's lets acknowledgements without data wait and drops old ones; "
    .. "drops segments of which some came before; keeps any number; passes only the "
    .. "last one of those that come again by its second output. A SYN within a "
    .. "connection that has begun changes nothing (RFC 5961, section 4): FastClick's "
    .. "begins again. MERGESORT changes nothing: each segment is put in order as it "
    .. "comes.",
}

function TCPReorder:configure(a)
  self.forever, self.verbose = a.NOTIMEOUT, a.VERBOSE
  self.waiting, self.segment, self.other = 0, stream.segment(), stream.segment()
  self.oldest, self.newest = false, false -- areas
end

function TCPReorder:initialize()
  if #stream.nearest(self, true, "TCPIn") > 0 then
    return self:error("TCPIn now includes support for reordering. Use TCPReorder alone "
      .. "if you only want TCP Reordering")
  end
  self.area_of = state.of(self)
  self.timer = not self.forever
    and self.router:timer(function () self:expire() end)
end

-- Areas in which segments wait -------------------------------------------------------

local function as_area(p) return p ~= nil and ffi.cast(pointer, p) or false end

local function leave_list(self, area)
  local older, newer = as_area(area.older), as_area(area.newer)
  if older then older.newer = newer or nil else self.oldest = newer end
  if newer then newer.older = older or nil else self.newest = older end
  area.older, area.newer = nil, nil
end

local function enter_list(self, area)
  area.since, area.newer = self.router:steady(), nil
  area.older = self.newest or nil
  if self.newest then self.newest.newer = area else self.oldest = area end
  self.newest = area
  if self.timer and self.oldest == area then self.timer:after(LONGEST_WAIT) end
end

-- Drop what waits.
local function empty(self, area, reason)
  local n = area.queue.n
  if n == 0 then return end
  leave_list(self, area)
  for _ = 1, n do packet.free(C.pg_stream_any(area.queue)) end
  self.waiting = self.waiting - n
  drops.add(self, reason, n)
end

--- Drop what has waited too long.
function TCPReorder:expire()
  local now = self.router:steady()
  while self.oldest and now - self.oldest.since >= LONGEST_WAIT do
    empty(self, self.oldest, WAITED_TOO_LONG)
  end
  if self.oldest then
    self.timer:after(math.max(0.001, self.oldest.since + LONGEST_WAIT - now))
  end
end

function TCPReorder:flow_ended(area) empty(self, area, ENDED) end

function TCPReorder:cleanup()
  if rawget(self, "area_of") then state.end_all(self) end
end

-- Segments ---------------------------------------------------------------------------

-- The numbers behind the segment.
local function behind(s)
  return tobit(s.seq + s.length + (band(s.flags, FIN) ~= 0 and 1 or 0))
end

local function comes_again(self, p)
  if self.noutputs == 2 then return p, 2 end
  return nil, TWICE
end

-- Cut off what came before; false: its checksum is wrong, and a cut would hide that.
local function cut(p, s, known)
  if not C.pg_stream_sound(p, s) then return false end
  C.pg_stream_cut(p, s, known, s.length - known)
  return true
end

local function advance(area, s)
  area.next = behind(s)
  if band(s.flags, FIN) ~= 0 then area.fin = 1 end
end

-- One that waited: to output 1 if there is something new in it.
local function release(self, area, p)
  local s = self.other
  local known = stream.look(p, s) and tobit(area.next - s.seq)
  if not known or tobit(area.next - behind(s)) >= 0 then
    packet.free(p)
    return drops.add(self, "came twice", 1)
  elseif known > 0 and not cut(p, s, known) then
    packet.free(p)
    return drops.add(self, "bad checksum", 1)
  end
  advance(area, s)
  self.emit(1, p)
end

-- Those that waited for what has come.
local function go_on(self, area)
  leave_list(self, area)
  while area.queue.n > 0 and area.fin == 0 do
    local p = C.pg_stream_next(area.queue, area.next)
    if p == nil then break end
    self.waiting = self.waiting - 1
    release(self, area, p)
  end
  if area.queue.n == 0 then return end
  enter_list(self, area)
  if area.fin ~= 0 then empty(self, area, ENDED) end
end

local function in_order(self, area, p, s)
  advance(area, s)
  if area.queue.n == 0 then return p end
  self.emit(1, p)
  go_on(self, area)
  return false
end

local function wait(self, area, p, s)
  local room = math.min(WAITING, WAITING_IN_ALL - self.waiting)
  local first = area.queue.n == 0
  local result = C.pg_stream_wait(area.queue, s.seq, behind(s), p, room)
  if result == C.STREAM_KNOWN then return nil, TWICE end
  if result == C.STREAM_FULL then return nil, NO_ROOM end
  self.waiting = self.waiting + 1
  if first then
    enter_list(self, area)
    if self.verbose then
      self:remark("segment %d comes early, %d is missing", s.seq, area.next)
    end
  end
  return false
end

-- A SYN: the first of a connection, the same again, or one that says nothing.
local function take_syn(self, area, p, s)
  if area.open ~= 0 and area.fin == 0 then
    if s.seq == area.first then return comes_again(self, p) end
    if area.next ~= area.begun then return p end
  end
  empty(self, area, ENDED)
  area.first, area.open, area.fin = s.seq, 1, 0
  s.seq = tobit(s.seq + 1) -- of what it has besides
  advance(area, s)
  area.begun = area.next
  return p
end

local function reset(self, area, p, s)
  local ahead = tobit(s.seq - area.next)
  if area.open ~= 0 and ahead >= 0 and ahead <= WINDOW_MOST then
    empty(self, area, ENDED)
    area.open = 0
  end
  return p
end

local function take(self, area, p, s)
  local ahead = tobit(s.seq - area.next)
  if ahead == 0 and area.fin == 0 then return in_order(self, area, p, s) end
  if tobit(behind(s) - area.next) <= 0 then return comes_again(self, p) end
  if area.fin ~= 0 then return nil, BEHIND_END end
  if ahead > 0 then return wait(self, area, p, s) end
  if not cut(p, s, -ahead) then return nil, BAD_SUM end
  return in_order(self, area, p, s)
end

-- A segment that is the first of its flow, and no SYN.
local function begin_with(area, p, s)
  area.first, area.begun, area.open, area.fin = tobit(s.seq - 1), s.seq, 1, 0
  advance(area, s)
  return p
end

function TCPReorder:process(p)
  local s = self.segment
  if not stream.look(p, s) then return nil, NOT_TCP end
  local area = self.area_of(p)
  if not area then return nil, NO_FLOW end
  local flags, q, o = s.flags
  if band(flags, RST) ~= 0 then
    q, o = reset(self, area, p, s)
  elseif band(flags, SYN) ~= 0 then
    q, o = take_syn(self, area, p, s)
  elseif area.open == 0 and not self.class.begins_anywhere then
    return nil, NO_SYN
  elseif area.open == 0 and (s.length > 0 or band(flags, FIN) ~= 0) then
    q, o = begin_with(area, p, s)
  elseif s.length == 0 and band(flags, FIN) == 0 then
    return p
  else
    q, o = take(self, area, p, s)
  end
  return q, o
end

TCPReorder.handlers = {waiting = {read = function (self) return self.waiting end}}

-- SimpleTCPReorder -------------------------------------------------------------------

local SimpleTCPReorder = element.define{
  name = "SimpleTCPReorder", extends = TCPReorder, begins_anywhere = true,
  summary = "passes a flow's TCP segments in order, from any segment on",
  arguments = {{"VERBOSE", "bool", default = false}},
  notes = "As TCPReorder, but a flow begins with its first segment with data, SYN or "
    .. "FIN.",
  differs = "FastClick's puts those in order that are in one batch, and lets none wait "
    .. "for the next.",
}

return {TCPReorder, SimpleTCPReorder}
