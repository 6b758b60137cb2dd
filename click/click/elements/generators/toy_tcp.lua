-- SPDX-License-Identifier: Apache-2.0
-- ToyTCP: a TCP client that opens one connection, and loads the server with segments of
-- a byte that never arrive in order.

local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local tcp_flag = require("net.wire.tcp_flag")
local wire = require("click.net.wire")

local band = bit.band
local swap16, word_of, number_of = wire.swap16, wire.word_of, wire.number_of
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local HEADER, SYN, RST, ACK = 20, tcp_flag.SYN, tcp_flag.RST, tcp_flag.ACK
local USUAL, NARROW = 60 * 1024, 30 * 1024 -- windows; every fourth is narrow
local PERIOD = 1 -- seconds
local FIRST_PORT, PORTS = 1024, 60000

local ToyTCP = element.define{
  name = "ToyTCP", summary = "a TCP client that sends bytes, to test servers",
  processing = "h/h", emits = true, reads = {},
  division = "none", undivided = "it is one connection",
  arguments = {{"DPORT", "ip_port", protocol = "tcp", required = true}},
  drops = {"connection was reset"},
  notes = [[
Packets begin with TCP's header, as those do that it sends. It sends a segment each
second and for each packet that comes, two for every sixth: SYNs; once connected,
a byte each. After a RST it begins again within a second. A line each second says how
many packets have come and gone.]],
}

-- Begin a connection, with a port and a number by the clock.
local function restart(self)
  local now = self.router:nanoseconds()
  local seconds = tonumber(now / 1000000000LL)
  local micro = tonumber(now % 1000000000LL / 1000)
  self.first = band(seconds, 0x0fffffff)
  self.port = FIRST_PORT + micro % PORTS
  self.next, self.connected, self.reset = self.first, false, false
  self.answered, self.windows = 0, 0
end

function ToyTCP:configure(a)
  self.to = a.DPORT
  self.good, self.bad, self.sent = 0, 0, 0
  restart(self)
end

-- Make a segment of the packet, or a new one.
local function segment(self, p)
  local n = HEADER + (self.connected and 1 or 0)
  if not p then
    p = packet.allocate()
    note.clear(p)
  end
  p.length = n
  local d = p.data
  ffi.fill(d, n)
  local words, halves = ffi.cast(words_t, d), ffi.cast(halves_t, d)
  halves[0], halves[1] = swap16(self.port), swap16(self.to)
  if self.connected then
    words[1] = word_of(self.next + 1 + band(self.sent, 0xfff))
    words[2] = word_of(self.expected)
  else
    words[1] = word_of(self.next)
  end
  d[12], d[13] = HEADER * 4, self.connected and ACK or SYN
  local narrow = self.windows > 2
  self.windows = narrow and 0 or self.windows + 1
  halves[7] = swap16(narrow and NARROW or USUAL)
  wire.barrier()
  self.sent = self.sent + 1
  return p
end

function ToyTCP:initialize()
  self.timer = self.router:timer(function (timer)
    if self.reset then restart(self) end
    self.emit(1, segment(self))
    timer:again(PERIOD)
    self:say("ToyTCP: %d good in, %d bad in, %d out", self.good, self.bad, self.sent)
  end)
  self.timer:after(PERIOD)
end

local function receive(self, p)
  if p.length < HEADER then return end
  local words, halves = ffi.cast(words_t, p.data), ffi.cast(halves_t, p.data)
  if swap16(halves[0]) ~= self.to or swap16(halves[1]) ~= self.port then return end
  local flags = p.data[13]
  if band(flags, ACK + RST) == ACK and not self.connected
      and number_of(words[2]) == self.first + 1 then
    self.next, self.expected = self.first + 1, number_of(words[1]) + 1
    self.connected = true
    self:say("ToyTCP connected")
  end
  if band(flags, RST) == 0 then
    self.good = self.good + 1
    return
  end
  self:say("ToyTCP: RST from port %d, in %d, out %d", self.to, self.good, self.sent)
  self.bad, self.reset = self.bad + 1, true
end

function ToyTCP:process(p)
  if self.reset then return nil, 1 end
  receive(self, p)
  p = segment(self, p)
  local one_more = self.answered > 4
  self.answered = one_more and 0 or self.answered + 1
  if not one_more then return p end
  self.emit(1, p)
  self.emit(1, segment(self))
  return false
end

return {ToyTCP}
