-- SPDX-License-Identifier: Apache-2.0
-- TCPBuffer: a queue of one TCP stream's segments, in the order of their numbers.
-- TCPAck acknowledges what one behind it has in a row.

local ffi = require("ffi")
local C = require("core.declare")("net/stream/stream.h")
local element = require("click.element")
local packet = require("core.packet")
local stream = require("click.flow.stream")

local band, tobit = bit.band, bit.tobit
local SYN_FIN = stream.SYN + stream.FIN
local MOST = 1024
local NOT_TCP, TWICE, LATE, FULL = 1, 2, 3, 4

local TCPBuffer = element.define{
  name = "TCPBuffer", summary = "puts TCP segments in order",
  processing = "h/l", notifies = "empty", reads = {"NETWORK_HEADER"},
  arguments = {{"SKIP", "bool", default = false}},
  drops = {"no TCP", "number is there already", "came too late", "queue full"},
  notes = [[
It is for one direction of one connection. What is missing holds back what follows; with
SKIP true, nothing waits. What comes when a later segment was pulled already is dropped.
It holds up to 1024 segments.]],
  differs = [[
What comes late is dropped, as Click's page says; Click's program keeps it at the head,
and without SKIP gives nothing from then on. Click's holds any number of segments.]],
}

function TCPBuffer:configure(a)
  self.skip = a.SKIP
  self.queue, self.segment = ffi.new("struct stream_queue"), stream.segment()
end

--- The numbers of a segment: its first, and how many it takes; nil: it is no TCP.
function TCPBuffer.numbers(p, segment)
  if not stream.look(p, segment) then return nil end
  local control = band(segment.flags, SYN_FIN) ~= 0 and 1 or 0
  return tobit(segment.seq), segment.length + control
end

function TCPBuffer:process(p)
  local seq = TCPBuffer.numbers(p, self.segment)
  if not seq then return nil, NOT_TCP end
  if self.next and tobit(seq - self.next) < 0 then return nil, LATE end
  local kept = C.pg_stream_wait(self.queue, seq, seq + 1, p, MOST)
  if kept == C.STREAM_KNOWN then return nil, TWICE end
  if kept == C.STREAM_FULL then return nil, FULL end
  self.signal:set(true)
  return false
end

function TCPBuffer:pull()
  local queue = self.queue
  local ready = queue.n > 0
    and (self.skip or not self.next or tobit(queue.list[0].seq) == self.next)
  if not ready then
    self.signal:set(false)
    return nil
  end
  local p = C.pg_stream_any(queue)
  local seq, n = TCPBuffer.numbers(p, self.segment)
  self.next = tobit(seq + n)
  return p
end

--- The first number from `from` on that is missing; nil before anything has come.
function TCPBuffer:missing(from)
  local queue = self.queue
  if not self.next and queue.n == 0 then return nil end
  local expected = self.next or tobit(queue.list[0].seq)
  for i = 0, queue.n - 1 do
    local seq, n = TCPBuffer.numbers(queue.list[i].packet, self.segment)
    if seq ~= expected then
      if tobit(expected - from) >= 0 then return expected end
      if tobit(seq - from) > 0 then return from end
    end
    expected = tobit(seq + n)
  end
  return tobit(expected - from) >= 0 and expected or from
end

--- Packets that it holds (click.router.run_out).
function TCPBuffer:backlog() return self.queue.n end

function TCPBuffer:cleanup()
  if not self.queue then return end
  while self.queue.n > 0 do packet.free(C.pg_stream_any(self.queue)) end
end

return {TCPBuffer}
