-- SPDX-License-Identifier: Apache-2.0
-- TCPOut: writes the numbers that a stream has after its changes, lengths and
-- checksums, and cuts segments that have grown too long. TCPRetransmitter: what is sent
-- again.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("net/stream/stream.h")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local order = require("click.flow.tcp_order")
local stream = require("click.flow.stream")
local wire = require("click.net.wire")

local band, bor, tobit = bit.band, bit.bor, bit.tobit
local FIN, SYN, PUSH, ACK = stream.FIN, stream.SYN, stream.PUSH, stream.ACK
local FLAGS, TCP_HEADER = 13, 20
local NOT_TCP, NO_IN, NO_ROOM = 1, 2, 3

-- TCPOut -----------------------------------------------------------------------------

local TCPOut = element.define{
  name = "TCPOut", summary = "ends a path of TCP: numbers, lengths and checksums",
  ports = "1/1-2", processing = "a/ah", emits = true, division = "flow",
  reads = {"NETWORK_HEADER", "FLOW_ID"}, fills_cache = true,
  drops = {"not TCP", "no TCPIn in front", "no room"},
  arguments = {
    {"READONLY", "bool", default = false},
    {"CHECKSUM", "bool", default = true, keyword = true},
  },
  notes = [[
Sequence numbers follow what was taken out and put in before, acknowledgements what was
changed in the other direction. A segment that has grown beyond what the receiver takes
(the MSS in its SYN) leaves as several. Of one from which all was taken, the sender is
to know that it needn't be sent again, once the receiver has all before it: an
acknowledgement to the sender leaves by output 2; without that output the segment's
number is one too low, so that the receiver answers (RFC 9293, section 3.10.7.4).
READONLY: packets pass as they are.]],
  differs = "CHECKSUM changes nothing: checksums are right, IP's too. FastClick's also "
    .. "acknowledges what it keeps, or what the receiver hasn't got.",
}

function TCPOut:configure(a)
  self.readonly, self.segment = a.READONLY, stream.segment()
end

function TCPOut:initialize() -- its TCPIn, which may come later, writes it here
  self.tcp_in = rawget(self, "tcp_in") or false
end

local function put_ip4(to, word) ffi.cast("int32_t *", to)[0] = word end

-- An acknowledgement of all before `ack` to the sender of `p`.
local function acknowledgement(p, s, d, seq, ack)
  local q, ip, tcp = stream.new_ack(d.window)
  local from, theirs = p.data + s.ip, p.data + s.tcp
  put_ip4(ip + 12, ffi.cast("int32_t *", from + 16)[0])
  put_ip4(ip + 16, ffi.cast("int32_t *", from + 12)[0])
  tcp[0], tcp[1], tcp[2], tcp[3] = theirs[2], theirs[3], theirs[0], theirs[1]
  note.copy(q, p)
  stream.note_headers(q)
  q.note32[note.FLOW_ID] = 0
  wire.barrier()
  local made = stream.segment()
  C.pg_stream_look(q, 0, made)
  C.pg_stream_write(q, made, seq, ack)
  return q
end

-- What the receiver has acknowledged of what was sent, in the sender's numbers.
local function acked(d)
  local ack = C.pg_stream_acked(d.changes, d.acked)
  return tobit(ack - d.sent) > 0 and d.sent or ack
end

-- All of the payload was taken out: let its sender know. Returns what is to be taken
-- off the segment's number.
local function emptied(self, p, s, d)
  if self.noutputs < 2 then return 1 end
  local ack = acked(d)
  if d.heard ~= 0 and tobit(ack - s.seq - s.length) >= 0 then
    self.emit(2, acknowledgement(p, s, d, s.ack, ack))
  end
  return 0
end

--- How many bytes of the direction from the number `seq` on the receiver has.
function TCPOut.known(_, d, seq)
  return d.heard ~= 0 and math.max(0, tobit(acked(d) - seq)) or 0
end

-- The segment as several of up to `most` bytes, of which the last is returned.
local function cut(self, p, s, seq, ack, most)
  local flags = s.flags
  while s.now > most do
    local q = front.clone(p)
    q.data[s.tcp + FLAGS] = band(flags, 0xff - bor(FIN, PUSH))
    C.pg_stream_trim(q, s, most)
    C.pg_stream_write(q, s, seq, ack)
    self.emit(1, q)
    C.pg_stream_cut(p, s, most, s.now - most)
    s.now, seq = s.now - most, tobit(seq + most)
  end
  C.pg_stream_write(p, s, seq, ack)
  return p
end

-- The segment's acknowledgement in the sender's numbers; `other` is the direction that
-- it answers. Old ones, that came late, and those of what wasn't sent change nothing.
local function hear(other, s)
  local last = C.pg_stream_acked(other.changes, tobit(s.ack - 1))
  if tobit(last - other.sent) >= 0
    or other.heard ~= 0 and tobit(s.ack - other.acked) < 0 then
    return C.pg_stream_acked(other.changes, s.ack)
  end
  other.acked, other.heard, other.window = s.ack, 1, s.window
  local ack = acked(other)
  C.pg_stream_forget(other.changes, ack)
  return ack
end

local function write(self, p, s, d, other)
  local n = s.length + (band(s.flags, bor(SYN, FIN)) ~= 0 and 1 or 0)
  -- The number of an acknowledgement alone may be that of what waits.
  if n > 0 and tobit(s.seq + n - d.sent) > 0 then d.sent = tobit(s.seq + n) end
  local ack = s.ack
  if other ~= nil and band(s.flags, ACK) ~= 0 then ack = hear(other, s) end
  if self.readonly then return p end
  local seq = C.pg_stream_sent(d.changes, s.seq)
  if seq == s.seq and ack == s.ack and s.now == s.length
    and d.changes.made == 0 then
    return p
  end
  if s.now == 0 and s.length > 0 and band(s.flags, FIN) == 0 then
    seq = seq - emptied(self, p, s, d)
  end
  local most = d.mss - (s.payload - s.tcp - TCP_HEADER)
  if s.now > s.length and s.now > most and most > 0 then
    return cut(self, p, s, seq, ack, most)
  end
  C.pg_stream_write(p, s, seq, ack)
  return p
end

function TCPOut:process(p)
  local source, s = self.tcp_in, self.segment
  if not source then return nil, NO_IN end
  if not stream.look(p, s) then return nil, NOT_TCP end
  local d = source:direction(p)
  if d == nil then return p end
  local other = d.peer ~= 0 and source.back.own(d.peer) or nil
  return write(self, p, s, d, other)
end

-- TCPRetransmitter -------------------------------------------------------------------

local TCPRetransmitter = element.define{
  name = "TCPRetransmitter", aliases = {"SimpleTCPRetransmitter"},
  summary = "sends again what comes again, as it was changed before",
  ports = "2/1", processing = "h/h", division = "flow",
  reads = {"NETWORK_HEADER", "FLOW_ID"},
  drops = {"not TCP", "no TCPIn in front", "no room", "is kept already",
    "no connection"},
  arguments = {
    {"PROACK", "bool", default = false, keyword = true},
    {"VERBOSE", "bool", default = false, keyword = true},
    {"READONLY", "bool", default = false, keyword = true},
  },
  notes = [[
The stream comes to input 0 and passes. To input 1 comes what TCPIn's output 2 has:
segments that come again. They are changed as they were before, whatever segments they
were in then.]],
  differs = "It keeps no packets: the connection knows what was changed. Its arguments "
    .. "change nothing.",
}
local KEPT, NO_CONNECTION = 4, 5

function TCPRetransmitter:initialize()
  local source = stream.source(self)
  if source == nil then self:error("Could not find TCPIn element !") end
  self.source, self.segment = source, stream.segment()
end

function TCPRetransmitter:process(p, i)
  if i ~= 2 then return p end
  local s = self.segment
  if not stream.look(p, s) then return nil, NOT_TCP end
  local d, number = self.source:direction(p)
  if d == nil then return nil, NO_CONNECTION end
  local q, drop = self.source:again(d, number, p, s)
  if q then return q end
  return nil, drop == order.IS_KEPT and KEPT or NO_ROOM
end

return {TCPOut, TCPRetransmitter}
