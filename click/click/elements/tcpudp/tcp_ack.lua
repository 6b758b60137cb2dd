-- SPDX-License-Identifier: Apache-2.0
-- TCPAck acknowledges the segments of a connection: in those that leave, and after a
-- while in one of its own. What has come in a row, a TCPBuffer knows.

local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local pulls = require("click.router.pulls")
local stream = require("click.flow.stream")
local wire = require("click.net.wire")

local band, tobit = bit.band, bit.tobit
local words_t = ffi.typeof("int32_t *")
local SYN_ACK, CONTROL = stream.SYN + stream.ACK, stream.SYN + stream.FIN + stream.RST
local IN, OUT, OWN = 1, 2, 3
local NOT_TCP, EARLY = 1, 2
local WINDOW, LOW_DELAY = 32120, 0x10

local TCPAck = element.define{
  name = "TCPAck", summary = "acknowledges TCP segments",
  ports = "2/3", processing = "aa/aah", emits = true, reads = {"NETWORK_HEADER"},
  arguments = {{"DELAY", "seconds", default = 0.02}},
  drops = {"no TCP", "before a SYN ACK"},
  notes = [[
For one connection. Input 0 and output 0 carry what comes in; input 1 and output 1 what
goes out, which gets the number that acknowledges what has come in a row. If nothing
goes out within DELAY, a segment without data, addresses and ports leaves by output 2. A
TCPBuffer has to be behind output 0. What comes before a segment with SYN and ACK, one
way or the other, is dropped. No checksum is computed.]],
}

function TCPAck:configure(a)
  self.delay, self.segment = a.DELAY, stream.segment()
end

function TCPAck:initialize()
  self.buffer = self.router:nearest(self, true, function (e)
    return e.class.name == "TCPBuffer"
  end, 1)[1]
  if not self.buffer then
    return self:error("need at least 1 downstream TCPBuffer")
  end
  self.timer = self.router:timer(function () self:be_due() end)
  self.timer:after(self.delay)
end

-- It came in; `n` numbers from `seq` on.
local function take_in(self, seq, n)
  if seq == self.next then
    self.next = tobit(seq + n)
    self.next = self.buffer:missing(self.next) or self.next
  else
    self:say("seqno < ack_nxt: out of order or retransmitted packet")
  end
  self.needed = true
  if not self.timer:scheduled() then self.timer:after(self.delay) end
end

local function acknowledge(self, p)
  ffi.cast(words_t, p.data + self.segment.tcp)[2] = wire.word_of(self.next)
  wire.barrier()
end

function TCPAck:process(p, i)
  local segment = self.segment
  local seq, n = self.buffer.numbers(p, segment)
  if not seq then return nil, NOT_TCP end
  local begins = band(segment.flags, SYN_ACK) == SYN_ACK
  if i == OUT then
    if begins then self.next = tobit(segment.ack) end
    if not self.next then return nil, EARLY end
    self.needed = false
    acknowledge(self, p)
    return p, OUT
  end
  if begins and not self.next then self.next = tobit(seq + 1) end
  if not self.next then return nil, EARLY end
  if band(segment.flags, CONTROL) == 0 then take_in(self, seq, n) end
  return p, IN
end

function TCPAck:pull(o)
  local p = self.pull_from[o]()
  if not p then return nil end
  local q, drop = self:process(p, o)
  if q then return q end
  pulls.lose(self, p, drop)
end

-- An acknowledgement alone, without addresses, ports and number.
local function make(self)
  local p, ip, tcp = stream.new_ack(WINDOW)
  ip[1] = LOW_DELAY
  ffi.cast(words_t, tcp)[2] = wire.word_of(self.next)
  wire.barrier()
  note.clear(p)
  stream.note_headers(p)
  return p
end

--- DELAY is over.
function TCPAck:be_due()
  if not self.needed then return end
  self.needed = false
  self.emit(OWN, make(self))
end

return {TCPAck}
