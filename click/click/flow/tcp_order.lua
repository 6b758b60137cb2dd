-- SPDX-License-Identifier: Apache-2.0
-- The order of a connection's segments for TCPIn: those that come too early wait, those
-- that come again are sent as they were changed before.

local bit = require("bit")

local C = require("core.declare")("net/stream/stream.h")
local front = require("click.net.front")
local packet = require("core.packet")
local stream = require("click.flow.stream")

local order = {}

local band, tobit = bit.band, bit.tobit
local FIN, FLAGS = stream.FIN, 13
local WAITING, WAITING_IN_ALL = 1024, 16384

--- TCPIn's drops by number, of which these are some.
order.NOT_TCP, order.TWICE, order.NO_ROOM_TO_WAIT = 1, 5, 6
order.IS_KEPT, order.TOO_LONG = 7, 8
local NOT_TCP, TWICE = order.NOT_TCP, order.TWICE
local NO_ROOM_TO_WAIT, IS_KEPT = order.NO_ROOM_TO_WAIT, order.IS_KEPT
local TOO_LONG = order.TOO_LONG

-- The segments that waited for what has come.
local function go_on(self, d)
  local s = self.other
  while d.queue.n > 0 do
    local p = C.pg_stream_next(d.queue, d.next)
    if p == nil then return end
    self.waiting = self.waiting - 1
    local known = stream.look(p, s) and tobit(d.next - s.seq) or -1
    local fin = band(s.flags, FIN)
    if known < 0 or known >= s.length + fin then
      packet.free(p)
    else
      if known > 0 then C.pg_stream_cut(p, s, known, s.length - known) end
      d.next = tobit(s.seq + s.length + fin)
      if fin ~= 0 then d.fin = 1 end
      self.emit(1, p)
    end
  end
end

local function in_order(self, d, p, s)
  d.next = tobit(s.seq + s.length + band(s.flags, FIN))
  if band(s.flags, FIN) ~= 0 then d.fin = 1 end
  if d.queue.n == 0 then return p end
  self.emit(1, p)
  go_on(self, d)
  return false
end

-- One connection has no more than are left for all others, so that some don't take all.
local function wait(self, d, p, s, fin)
  local room = d.open == 0 and 0 or math.min(WAITING, WAITING_IN_ALL - self.waiting)
  local result = C.pg_stream_wait(d.queue, s.seq, s.seq + s.length + fin, p, room)
  if result == C.STREAM_KNOWN then return nil, TWICE end
  if result == C.STREAM_FULL then return nil, NO_ROOM_TO_WAIT end
  self.waiting = self.waiting + 1
  return false
end

--- A segment of the direction that comes again is changed as it was before: it, or nil
--- and the number of a drop. Of what the receiver has it isn't known any more what it
--- was changed to: it is cut off, or the segment leaves without its payload.
function order.again(self, d, number, p, s)
  if tobit(s.seq + s.length - d.sent) > 0 then
    for _, e in ipairs(self.keepers) do e:let_go(number, p) end
    return nil, IS_KEPT
  end
  local known = self.out:known(d, s.seq)
  if known >= s.length then
    p.length = s.payload
    return p
  elseif known > 0 then
    C.pg_stream_cut(p, s, known, s.length - known)
    if not stream.look(p, s) then return nil, NOT_TCP end
  end
  if d.changes.n > 0 and C.pg_stream_send_again(d.changes, p, s) ~= C.STREAM_EDITED then
    return nil, TOO_LONG
  end
  return p
end

local function send_again(self, d, number, p, s)
  if self.noutputs == 2 then return p, 2 end
  local q, drop = order.again(self, d, number, p, s)
  if not q then return nil, drop end
  local last, o = self.out:process(q)
  if last == nil then return nil, TOO_LONG end
  self.out.emit(o or 1, last)
  return false
end

-- Some of it has come before, some hasn't.
local function take_both(self, d, number, p, s)
  local known = tobit(d.next - s.seq)
  local q = front.clone(p)
  q.data[s.tcp + FLAGS] = band(q.data[s.tcp + FLAGS], 0xff - FIN)
  C.pg_stream_trim(q, s, known)
  if stream.look(q, self.other) then
    local r, o = send_again(self, d, number, q, self.other)
    if r then self.emit(o, r) elseif r == nil then packet.free(q) end
  else
    packet.free(q)
  end
  C.pg_stream_cut(p, s, known, s.length - known)
  if not stream.look(p, s) then return nil, NOT_TCP end
  return in_order(self, d, p, s)
end

--- What becomes of the segment `p` of the direction with this number, as process() says
--- it; `self` is its TCPIn, to whose drops the numbers belong.
function order.take(self, d, number, p, s)
  local fin = band(s.flags, FIN)
  if s.length + fin == 0 then return p end
  local ahead = tobit(s.seq - d.next)
  if ahead == 0 then return in_order(self, d, p, s) end
  if ahead > 0 then
    if self.reorders then return wait(self, d, p, s, fin) end
    return in_order(self, d, p, s)
  end
  if s.length > 0 and ahead + s.length > 0 then
    return take_both(self, d, number, p, s)
  end
  if s.length == 0 then return p end -- a FIN alone
  return send_again(self, d, number, p, s)
end

return order
