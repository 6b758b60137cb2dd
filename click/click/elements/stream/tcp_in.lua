-- SPDX-License-Identifier: Apache-2.0
-- TCPIn: finds the connection of each segment, and passes its stream in order. It is
-- the flow manager of what is behind it.

local bit = require("bit")

local C = require("core.declare")("net/stream/stream.h")
local manager = require("click.flow.manager")
local note = require("click.note")
local order = require("click.flow.tcp_order")
local packet = require("core.packet")
local stream = require("click.flow.stream")

local band, tobit = bit.band, bit.tobit
local SYN, RST, ACK = stream.SYN, stream.RST, stream.ACK
local FLOW_ID = note.FLOW_ID
local CAPACITY = 65536
local ESTABLISHED, OPENING = 0, 1 -- lists of connections, by age
local MILLISECONDS = 1000
local LONG, SHORT = 7440, 30 -- seconds: RFC 5382, REQ-5; FastClick's
local WINDOW_MOST = 2 ^ 20 -- of numbers for a RST
local MSS = 536 -- RFC 9293, section 3.7.1: if nothing was said
local LEAST_MSS = 28 -- RFC 791: each network takes 68 bytes

local TCPIn = manager.define{
  name = "TCPIn", summary = "begins a path of TCP: finds connections, orders segments",
  ports = "1/1-2", processing = "h/h", emits = true, context = {{"tcp"}},
  own_state = stream.direction,
  drops = {"not TCP", "bad checksum", "no connection", "no room for its connection",
    "came twice", "no room to wait", "is kept already", "too long"},
  arguments = {
    {"RETURNNAME", "element", required = true, class = "TCPIn"},
    {"FLOWDIRECTION", "int", default = -1, keyword = true},
    {"REORDER", "bool", default = true, keyword = true},
    {"OUTNAME", "element", class = "TCPOut", keyword = true},
    {"VERBOSE", "int", default = 0, keyword = true},
    {"PROACK", "bool", default = false, keyword = true},
    {"RETRANSMIT_PT", "bool", default = false, keyword = true},
    {"CAPACITY", "unsigned", default = CAPACITY, min = 1, max = 2 ^ 24, keyword = true},
  },
  notes = [[
A connection begins with a SYN, and has a TCPIn for each direction, which name each
other (RETURNNAME), and a TCPOut behind each (OUTNAME, or the nearest). Segments of none
are dropped, but for RSTs. A connection ends 30 seconds after both sides have ended it,
or it was reset, or hasn't been answered; or after 7,440 seconds without a packet (RFC
5382). Up to CAPACITY are kept; then those that aren't answered, or have ended, make
room. Segments that come too early wait for those before (REORDER): none before the
connection is answered; then up to 1,024 of it, and no more than all connections have
left of 16,384. Of those that come again, those that TCPOut has sent leave by output 2,
for a TCPRetransmitter; without one they are changed as they were before, and go to
TCPOut. Those that an element between keeps make it let go of them. Selective
acknowledgements (RFC 2018) are refused in SYNs, as numbers in them would be wrong; data
in SYNs are cut off.]],
  differs = "Nothing is acknowledged that the receiver hasn't acknowledged, so PROACK "
    .. "does nothing. RETRANSMIT_PT does nothing: segments that come again are sent "
    .. "again. VERBOSE changes nothing. CAPACITY is Perigee's.",
}
local NOT_TCP, BAD_SUM, NO_CONNECTION, NO_ROOM = 1, 2, 3, 4

function TCPIn:configure(a)
  if a.FLOWDIRECTION < -1 or a.FLOWDIRECTION > 1 then
    return self:error("FLOWDIRECTION %d is not valid.", a.FLOWDIRECTION)
  end
  self.back, self.out, self.reorders = a.RETURNNAME, a.OUTNAME, a.REORDER
  self.flow_direction, self.waiting = a.FLOWDIRECTION, 0
  manager.configure(self, {CAPACITY = a.CAPACITY, TIMEOUT = SHORT, VERBOSE = 0})
end

function TCPIn:ages() -- luacheck: no self
  return {LONG * MILLISECONDS, SHORT * MILLISECONDS}
end

-- The TCPOut on its path.
local function find_out(self)
  if self.out then return self.out end
  local list = stream.nearest(self, true, "TCPOut")
  if #list == 1 then return list[1] end
  self:error("Found no or more than 1 TCPOut element. Specify which one to use with "
    .. "OUTNAME")
end

function TCPIn:initialize()
  manager.initialize(self)
  local out = find_out(self)
  if not out then return end
  if out.tcp_in and out.tcp_in ~= self then
    return self:error("'%s' is the TCPOut of '%s' already", out.name, out.tcp_in.name)
  elseif self.back == self or self.back.back ~= self then
    return self:error("'%s' has another RETURNNAME, '%s'", self.back.name,
      self.back.back and self.back.back.name or "")
  elseif self.flow_direction >= 0
    and self.flow_direction == self.back.flow_direction then
    return self:error("it and '%s' have the same FLOWDIRECTION", self.back.name)
  end
  self.out, out.tcp_in = out, self
  self.own = manager.own(self)
  self.keepers = stream.keepers(self, out)
  self.segment, self.other = stream.segment(), stream.segment()
end

-- Connections ------------------------------------------------------------------------

--- A connection's direction ends: so does the other.
function TCPIn:own_ended(number)
  local d = self.own(number)
  self:empty(d)
  C.pg_stream_changes_free(d.changes)
  local peer = d.peer
  d.peer = 0
  if peer == 0 then return end
  self.back.own(peer).peer = 0
  self.back:end_flow(peer)
end

--- Free what waits.
function TCPIn:empty(d)
  while true do
    local p = C.pg_stream_any(d.queue)
    if p == nil then return end
    self.waiting = self.waiting - 1
    packet.free(p)
  end
end

function TCPIn:cleanup()
  if not rawget(self, "own") then return end
  for number in self.table:each() do self:end_flow(number) end
end

--- The direction that the packet is of, as TCPIn has noted it, and its number; nil.
function TCPIn:direction(p)
  local number = self.number_of(p)
  if number then return self.own(number), number end
end

-- Let the direction and the other one go by the list.
local function age(self, number, d, list)
  self.table:touch(number, self:time(), list)
  if d.peer ~= 0 then self.back.table:touch(d.peer, self.back:time(), list) end
end

-- Let a connection that isn't open, or that has ended, go by the short time.
local function age_unless_open(self, number, d)
  if d.open == 0 or d.closed ~= 0
    or d.fin ~= 0 and d.peer ~= 0 and self.back.own(d.peer).fin ~= 0 then
    age(self, number, d, OPENING)
  end
end

-- A new record for the packet's flow, its number; 0: there is no room.
local function new_flow(self, p)
  local native = self.native
  native.adds_none = 0
  local number = C.pg_flow_manage(native, p, self:time())
  if number == 0 then
    local oldest = self.table.table.list[OPENING].oldest
    if self:sweep(1) == 0 and oldest ~= 0 then self:end_flow(oldest) end
    number = C.pg_flow_manage(native, p, self:time())
  end
  native.adds_none = 1
  return number
end

local function begin(self, number, s)
  local d = self.own(number)
  d.next, d.sent, d.first, d.acked = tobit(s.seq + 1), s.seq, s.seq, 0
  d.announced = s.mss > 0 and math.max(s.mss, LEAST_MSS) or MSS
  d.mss = MSS
  return d
end

-- A packet passes that says nothing of the connection.
local function pass_by(p)
  p.note32[FLOW_ID] = 0
  return p
end

-- A SYN passes, without selective acknowledgements, and without data: whether the peer
-- takes these isn't known. They come again (RFC 7413, section 4.2.2).
local function pass_syn(p, s)
  if s.length > 0 then C.pg_stream_trim(p, s, 0) end
  if C.pg_stream_refuse_sack(p, s) then C.pg_stream_write(p, s, s.seq, s.ack) end
  return p
end

-- The first SYN of a connection.
local function take_syn(self, p, s, number)
  if number > 0 then
    local d = self.own(number)
    if d.closed == 0 and d.peer ~= 0 and d.first ~= s.seq
      and not (d.fin ~= 0 and self.back.own(d.peer).fin ~= 0) then
      return pass_by(p) -- the peer answers for itself (RFC 5961, section 4)
    end
    if d.first == s.seq and d.closed == 0 then return pass_syn(p, s) end
    self:end_flow(number)
  end
  number = new_flow(self, p)
  if number <= 0 then return nil, NO_ROOM end
  age(self, number, begin(self, number, s), OPENING)
  return pass_syn(p, s)
end

-- The answer to it.
local function take_answer(self, p, s, number)
  local back = self.back
  local first = C.pg_flow_known(back.native, p, true)
  if first <= 0 then return nil, NO_CONNECTION end
  local other = back.own(first)
  if other.peer ~= 0 then
    local same = number > 0 and self.own(number).first == s.seq
    return same and pass_syn(p, s) or pass_by(p)
  elseif tobit(s.ack - other.first) ~= 1 then
    return pass_by(p) -- the peer resets it (RFC 9293, section 3.10.7.3)
  end
  if number > 0 then self:end_flow(number) end
  number = new_flow(self, p)
  if number <= 0 then return nil, NO_ROOM end
  local d = begin(self, number, s)
  d.peer, other.peer = first, number
  d.mss, other.mss = other.announced, d.announced
  d.open, other.open = 1, 1
  age(self, number, d, ESTABLISHED)
  return pass_syn(p, s)
end

-- Its connection ends here, for both sides, if the RST is one that the receiver takes.
-- What it has behind its header isn't of the stream (RFC 9293, section 3.5.3).
local function reset(self, d, p, s)
  if s.length > 0 then C.pg_stream_trim(p, s, 0) end
  local ahead = tobit(s.seq - d.next)
  if ahead < 0 or ahead > WINDOW_MOST then return end
  self:empty(d)
  d.closed = 1
  if d.peer ~= 0 then
    local other = self.back.own(d.peer)
    self.back:empty(other)
    other.closed = 1
  end
end

-- Segments ---------------------------------------------------------------------------

--- See click.flow.tcp_order.
TCPIn.again = order.again

function TCPIn:process(p)
  local s, native = self.segment, self.native
  if not stream.look(p, s) then return nil, NOT_TCP end
  if not C.pg_stream_sound(p, s) then return nil, BAD_SUM end
  p.length = s.payload + s.length -- without a frame's padding
  s.now = s.length
  local number = C.pg_flow_manage(native, p, self:time())
  if band(s.flags, SYN) ~= 0 then
    if number > 0 then age_unless_open(self, number, self.own(number)) end
    local f = band(s.flags, ACK) ~= 0 and take_answer or take_syn
    local q, o = f(self, p, s, number)
    return q, o
  end
  if number <= 0 then
    if band(s.flags, RST) == 0 then return nil, NO_CONNECTION end
    return pass_by(p)
  end
  local d, q, o = self.own(number), p, nil
  if band(s.flags, RST) ~= 0 then
    reset(self, d, p, s)
  else
    q, o = order.take(self, d, number, p, s)
  end
  age_unless_open(self, number, d)
  return q, o
end

function TCPIn:make_process()
  self.native.adds_none = 1
  self.number_of = manager.number_of(self)
  local process = self.process
  return function (_, p)
    local q, o = process(self, p)
    return q, o
  end
end

--- It finds each packet's flow by itself.
function TCPIn.outgrows_cache() return false end

TCPIn.handlers.waiting = {read = function (self) return self.waiting end}

return {TCPIn}
