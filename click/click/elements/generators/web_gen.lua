-- SPDX-License-Identifier: Apache-2.0
-- WebGen: many clients of a web server, each of which asks for one page. A connection
-- is made, asks, and is closed; what isn't answered within a second is sent again.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local chance = require("click.chance")
local element = require("click.element")
local ip_header = require("click.net.ip_header")
local note = require("click.note")
local packet = require("core.packet")
local tcp_flag = require("net.wire.tcp_flag")
local wire = require("click.net.wire")

local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local swap16, word_of, number_of = wire.swap16, wire.word_of, wire.number_of
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local FIN, SYN, RST, PUSH, ACK =
  tcp_flag.FIN, tcp_flag.SYN, tcp_flag.RST, tcp_flag.PSH, tcp_flag.ACK
local IP_HEADER, HEADERS, TCP, TTL, WINDOW = 20, 40, 6, 250, 60 * 1024
local SERVER_PORT, FIRST_PORT, PORTS = 80, 1024, 60000
local ANY, LOW_28_BITS = 2 ^ 31 - 2, 0x0fffffff
local MICRO = 1000000
local AGAIN, MOST_TIMES, TOLD = MICRO, 5, 5 * MICRO -- microseconds; times
local TICK, TRIES = 0.001, 8
local SHORT, RESET, NOTHING = 1, 2, 3
local REQUEST = "GET /spec/%d/%d-%d-%d HTTP/1.0\r\n\r\n"

local WebGen = element.define{
  name = "WebGen", summary = "asks a web server for pages, from many addresses",
  processing = "h/h", emits = true, reads = {},
  division = "none", undivided = "it makes packets itself, in one row",
  arguments = {
    {"PREFIX", "ip_prefix", bare = true, required = true},
    {"DST", "ip", required = true},
    {"RATE", "unsigned", required = true, min = 1, max = MICRO},
  },
  drops = {"too short for TCP", "is or follows a RST", "nothing to send"},
  notes = [[
RATE connections a second begin, each from an address of PREFIX and a port by chance,
to port 80. The page is one of /spec/D/D-C-F, with D from 0 to 9, C to 2 and F to 8.
Packets begin with IP's header, as those do that it sends. What is of no connection is
answered by a RST. A line each 5 seconds says how many connections began, were
completed, timed out and were reset.]],
  differs = "A RST of no connection isn't answered by another (RFC 9293, 3.5.2).",
}

function WebGen:configure(a)
  self.address, self.mask, self.to = a.PREFIX.address, a.PREFIX.mask, a.DST
  self.interval = math.floor(MICRO / a.RATE)
  self.free = 2 * math.floor(AGAIN / self.interval) * MOST_TIMES
  self.connections = {} -- by address and port
  self.oldest = {}      -- a ring, in the order in which each sent
  self.oldest.before, self.oldest.behind = self.oldest, self.oldest
  self.number = 0       -- of IP
  self.done = {began = 0, completed = 0, timeout = 0, reset = 0}
end

local function micro_now(self)
  return math.floor(tonumber(self.router:nanoseconds() / 1000))
end

-- Connections -----------------------------------------------------------------------

local function key_of(address, port) return address * 65536 + port end

local function unlink(c)
  if not c.before then return end
  c.before.behind, c.behind.before = c.behind, c.before
  c.before, c.behind = nil, nil
end

-- It sends now.
local function note_sent(self, c)
  c.sent_at = micro_now(self)
  unlink(c)
  c.before, c.behind = self.oldest.before, self.oldest
  c.before.behind, c.behind.before = c, c
end

local function forget(self, c)
  unlink(c)
  self.connections[c.key] = nil
  self.free = self.free + 1
end

-- Random bytes, of which those of the mask are the prefix's.
local function choose_address(self)
  local chosen = band(word_of(chance.number(ANY)), bit.bnot(tobit(self.mask)))
  return bor(chosen, band(tobit(self.address), tobit(self.mask))) % 2 ^ 32
end

local function new_connection(self)
  for _ = 1, TRIES do
    local address = choose_address(self)
    local first = band(chance.number(ANY), LOW_28_BITS)
    local port = FIRST_PORT + chance.number(ANY) % PORTS
    local folder, file, class = chance.number(9), chance.number(8), chance.number(2)
    local key = key_of(address, port)
    if not self.connections[key] then
      return {key = key, address = address, port = port, first = first, next = first,
        acked = first, expected = 0, times = 0, sent_fin = 0,
        request = REQUEST:format(folder, folder, class, file)}
    end
  end
end

-- Packets ---------------------------------------------------------------------------

-- The segment `s` {source, sport, destination, dport, seq, ack, flags, payload}, in the
-- packet or a new one.
local function write(self, p, s)
  if not p then
    p = packet.allocate()
    note.clear(p)
  end
  p.length = HEADERS + #s.payload
  ip_header.write(p, TCP, word_of(s.source), word_of(s.destination),
    self.number % 65536, TTL)
  self.number = self.number + 1
  local tcp = p.data + IP_HEADER
  local words, halves = ffi.cast(words_t, tcp), ffi.cast(halves_t, tcp)
  ffi.fill(tcp, HEADERS - IP_HEADER)
  ffi.copy(p.data + HEADERS, s.payload, #s.payload)
  halves[0], halves[1] = swap16(s.sport), swap16(s.dport)
  words[1], words[2] = word_of(s.seq), word_of(s.ack)
  tcp[12], tcp[13] = 0x50, s.flags
  halves[7] = swap16(WINDOW)
  wire.barrier()
  halves[8] = C.pg_ip4_l4_checksum(p.data, tcp, p.length - IP_HEADER)
  wire.barrier()
  return p
end

-- What the connection has to send, in the packet or a new one; nil: nothing.
local function send(self, c, p)
  local payload, seq = "", c.next + c.sent_fin
  if c.connected and (c.acked - c.first - 1) % 2 ^ 32 < #c.request then
    payload, seq = c.request, c.first + 1
    c.next = seq + #payload
  end
  note_sent(self, c)
  if c.connected and not c.due and payload == "" then return nil end
  c.due = false
  local flags = c.connected and ACK or SYN
  if payload ~= "" then flags = bor(flags, PUSH, FIN) end
  if c.got_fin and c.connected then flags = bor(flags, FIN) end
  if band(flags, FIN) ~= 0 then c.sent_fin = 1 end
  if c.sent_fin == 1 and c.got_fin then
    c.closed = true
    self.done.completed = self.done.completed + 1
  end
  return write(self, p, {source = c.address, sport = c.port, destination = self.to,
    dport = SERVER_PORT, seq = seq, ack = c.connected and c.expected or 0,
    flags = flags, payload = payload})
end

-- Receiving -------------------------------------------------------------------------

-- The fields of a TCP segment in a packet, in host order; nil if it is too short.
local function look(p)
  local n, ip = p.length, p.data
  if n < HEADERS then return nil end
  local header, total = lshift(band(ip[0], 15), 2), swap16(ffi.cast(halves_t, ip)[1])
  if header < IP_HEADER or header + IP_HEADER > total or total > n then return nil end
  local tcp = ip + header
  local addresses, words = ffi.cast(words_t, ip), ffi.cast(words_t, tcp)
  local ports = ffi.cast(halves_t, tcp)
  return {source = number_of(addresses[3]), destination = number_of(addresses[4]),
    sport = swap16(ports[0]), dport = swap16(ports[1]), seq = number_of(words[1]),
    ack = number_of(words[2]), flags = tcp[13], payload = "",
    length = total - header - lshift(rshift(tcp[12], 4), 2)}
end

local function refuse(self, p, s)
  return write(self, p, {source = s.destination, sport = s.dport, dport = s.sport,
    destination = s.source, seq = s.ack, ack = s.seq, flags = RST, payload = ""})
end

-- What the segment says of the connection.
local function learn(c, s)
  if band(s.flags, ACK + RST) == ACK and s.ack == c.first + 1 and not c.connected then
    c.next, c.acked, c.expected = c.first + 1, c.first + 1, (s.seq + 1) % 2 ^ 32
    c.connected, c.due = true, true
  elseif s.length > 0 then
    c.due = true
    c.expected = math.max(c.expected, (s.seq + s.length) % 2 ^ 32)
  end
  if band(s.flags, ACK) ~= 0 then c.acked = math.max(c.acked, s.ack) end
  if band(s.flags, FIN) ~= 0 and (s.seq + s.length) % 2 ^ 32 == c.expected
      and not c.got_fin then
    c.got_fin, c.due, c.expected = true, true, (c.expected + 1) % 2 ^ 32
  end
end

function WebGen:process(p)
  local s = look(p)
  if not s then return nil, SHORT end
  local reset = band(s.flags, RST) ~= 0
  local c = s.sport == SERVER_PORT and self.connections[key_of(s.destination, s.dport)]
  if not c then
    if reset then return nil, RESET end
    return refuse(self, p, s)
  end
  learn(c, s)
  if reset then
    forget(self, c)
    self.done.reset = self.done.reset + 1
    return nil, RESET
  end
  local q = send(self, c, p)
  if c.closed then forget(self, c) end
  if not q then return nil, NOTHING end
  return q
end

-- By the clock ----------------------------------------------------------------------

local function tell(self)
  local done = self.done
  self:say("init: %d  comp: %5d  tmo: %5d  rst: %5d", done.began, done.completed,
    done.timeout, done.reset)
  self.told = micro_now(self)
  for name in pairs(done) do done[name] = 0 end
end

local function begin(self)
  local c = self.free > 0 and new_connection(self)
  if not c then return self:say("out of available CBs") end
  self.free = self.free - 1
  self.connections[c.key] = c
  self.emit(1, send(self, c))
  self.done.began = self.done.began + 1
end

-- What was sent a second ago and more, once each.
local function send_again(self, now)
  local last = self.oldest.before
  while last ~= self.oldest do
    local c = self.oldest.behind
    if c == self.oldest or now - c.sent_at <= AGAIN then return end
    local often = c.times > MOST_TIMES
    c.times = c.times + 1
    if often then
      self.done.timeout = self.done.timeout + 1
      forget(self, c)
    else
      local p = send(self, c)
      if p then self.emit(1, p) end
    end
    if c == last then return end
  end
end

function WebGen:initialize()
  self:say("Allocated %d CBs", self.free)
  self.told = micro_now(self)
  self.timer = self.router:timer(function (timer)
    local now = micro_now(self)
    self.began_at = self.began_at or now
    while now - self.began_at > self.interval do
      self.began_at = self.began_at + self.interval
      begin(self)
    end
    send_again(self, now)
    if now - self.told > TOLD then tell(self) end
    timer:after(TICK)
  end)
  self.timer:after(0)
end

function WebGen:cleanup()
  if self.told then tell(self) end
end

return {WebGen}
