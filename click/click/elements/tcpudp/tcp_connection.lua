-- SPDX-License-Identifier: Apache-2.0
-- TCPDemux, TCPConn and BufferConverter, of Click's TCP stack of one connection
-- (conf/test-tcp.click): which flows are known, a connection that begins, and handlers
-- that read and write what it carries.

local bit = require("bit")
local ffi = require("ffi")
local arguments = require("click.arguments")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local pulls = require("click.router.pulls")
local stream = require("click.flow.stream")
local text_of = require("click.language.text")
local wire = require("click.net.wire")

local band, tobit = bit.band, bit.tobit
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local SOURCE, DESTINATION, SEQUENCE = 3, 4, 1 -- words of IP's header, and of TCP's
local HEADERS, LOW_DELAY, WINDOW = 40, 0x10, 32120
local UNDIVIDED = "it is for one connection"

-- TCPDemux ---------------------------------------------------------------------------

local TCPDemux = element.define{
  name = "TCPDemux", summary = "sends each TCP flow where its TCPConn waits for it",
  processing = "h/h", reads = {"NETWORK_HEADER"}, drops = {"no TCP", "unknown flow"},
  division = "none", undivided = UNDIVIDED,
  notes = "A flow is looked for by both ends, then by destination and port, by the "
    .. "port, by the destination, and then any. TCPConn says which there are.",
}

function TCPDemux:configure() self.flows, self.segment = {}, stream.segment() end

-- The text for a flow of a local end and a remote one: words, and ports as a number of
-- 16 bits in network order; 0: any.
local function key(address, port, remote, remote_port)
  return ("%d %d %d %d"):format(address, port, remote, remote_port)
end

--- Let packets from the remote end to the local one pass. False if they do already.
function TCPDemux:add(flow)
  if self.flows[flow] then return false end
  self.flows[flow] = true
  return true
end

--- Don't, any more.
function TCPDemux:remove(flow) self.flows[flow] = nil end

function TCPDemux:process(p)
  local s, flows = self.segment, self.flows
  if not stream.look(p, s) then return nil, 1 end
  local ip = ffi.cast(words_t, p.data + s.ip)
  local ports = ffi.cast(halves_t, p.data + s.tcp)
  local here, port = ip[DESTINATION], ports[1]
  if flows[key(here, port, ip[SOURCE], ports[0])] or flows[key(here, port, 0, 0)]
    or flows[key(0, port, 0, 0)] or flows[key(here, 0, 0, 0)]
    or flows[key(0, 0, 0, 0)] then
    return p
  end
  self:say("reject packet from unknown flow")
  return nil, 2
end

-- A packet of IPv4 and TCP, with these flags and room for `n` bytes.
local function make(n, flags)
  local p, ip, tcp = stream.new_ack(WINDOW)
  p.length = HEADERS + n
  ip[1], tcp[13] = LOW_DELAY, flags
  ffi.cast(halves_t, ip)[1] = wire.swap16(p.length)
  note.clear(p)
  stream.note_headers(p)
  return p
end

-- TCPConn ----------------------------------------------------------------------------

local IN, OUT, OWN = 1, 2, 3
local NOT_TCP, LISTENING = 1, 2

local TCPConn = element.define{
  name = "TCPConn", summary = "begins a TCP connection, or listens for one",
  ports = "2/3", processing = "hl/hlh", flow = "xy/xy", emits = true,
  reads = {"NETWORK_HEADER"}, drops = {"no TCP", "it listens"},
  division = "none", undivided = UNDIVIDED,
  notes = [[
Input 0 and output 0 carry what comes in, input 1 and output 1 what goes out, which is
pulled when the connection stands: it gets addresses, ports and sequence numbers. A SYN
leaves by output 2. A TCPDemux has to be in front of input 0. `connect ADDRESS PORT
ADDRESS PORT` (the own end, then the other's) or `listen ADDRESS PORT` is written to the
handler ctrl; anything to reset, to begin again. No checksum is computed.]],
  differs = "As in Click, what comes while it listens is dropped.",
}

function TCPConn:configure() self.segment = stream.segment() end

function TCPConn:initialize()
  self.demux = stream.nearest(self, false, "TCPDemux")[1]
  if not self.demux then return self:error("need at least 1 upstream TCPDemux") end
end

local function reset(self)
  if self.known then self.demux:remove(self.known) end
  self.known, self.established = nil, false
end

local END = {
  {"ADDRESS", "ip"}, {"PORT", "ip_port", protocol = "tcp"},
}

-- The ends that the words say, as {address word, port in network order}, ...; or nil
-- and what is wrong.
local function ends_of(self, words, n)
  local list = {}
  if #words ~= n + 1 then return nil, ("%d words are needed"):format(n + 1) end
  for i = 1, n do
    local kind = END[(i - 1) % 2 + 1]
    local value = arguments.value(words[i + 1], kind, self)
    if value == nil then
      return nil, ("'%s' is no %s"):format(words[i + 1], kind[1]:lower())
    end
    list[i] = i % 2 == 1 and wire.word_of(value) or wire.swap16(value)
  end
  return list
end

-- Write the connection's ends and its next number.
local function write(self, p)
  local ip = ffi.cast(words_t, p.data + self.segment.ip)
  local tcp = p.data + self.segment.tcp
  local ports = ffi.cast(halves_t, tcp)
  ip[SOURCE], ip[DESTINATION] = self.ends[1], self.ends[3]
  ports[0], ports[1] = self.ends[2], self.ends[4]
  ffi.cast(words_t, tcp)[SEQUENCE] = wire.word_of(self.next)
  wire.barrier()
end

local function send_syn(self)
  local p = make(0, stream.SYN)
  stream.look(p, self.segment)
  write(self, p)
  self.emit(OWN, p)
end

local function control(self, text)
  if self.known then return "TCPConn already active" end
  local words = text_of.words(text)
  local connects = words[1] == "connect"
  if not connects and words[1] ~= "listen" then
    return "action must be connect or listen"
  end
  local ends, problem = ends_of(self, words, connects and 4 or 2)
  if not ends then return problem end
  local flow = key(ends[1], ends[2], ends[3] or 0, ends[4] or 0)
  if not self.demux:add(flow) then return "cannot " .. words[1] end
  self.known, self.ends = flow, ends
  self.listens, self.established = not connects, false
  if connects then
    self.next = tobit(math.random(0, 0xffff) * 65536 + math.random(0, 0xffff))
    send_syn(self)
  end
end

TCPConn.handlers = {ctrl = {write = control}, reset = element.command(reset)}

local SYN_ACK = stream.SYN + stream.ACK

function TCPConn:process(p)
  if not stream.look(p, self.segment) then return nil, NOT_TCP end
  if self.listens then return nil, LISTENING end
  if band(self.segment.flags, SYN_ACK) == SYN_ACK and self.known
    and not self.established then
    self.established, self.next = true, tobit(self.next + 1)
  end
  return p, IN
end

function TCPConn:pull()
  if not (self.known and self.established) then return nil end
  local p = self.pull_from[OUT]()
  if not p then return nil end
  local s = self.segment
  if not stream.look(p, s) then return pulls.lose(self, p, NOT_TCP) end
  write(self, p)
  local control_bits = band(s.flags, stream.SYN + stream.FIN) ~= 0 and 1 or 0
  self.next = tobit(self.next + s.length + control_bits)
  return p
end

-- BufferConverter --------------------------------------------------------------------

local BufferConverter = element.define{
  name = "BufferConverter", summary = "reads and writes what TCP carries, by handlers",
  ports = "2/1", processing = "lh/h", flow = "xy/z", emits = true,
  reads = {"NETWORK_HEADER"}, drops = {"no TCP", "it isn't looked at"},
  division = "none", undivided = UNDIVIDED,
  arguments = {
    {"MTU", "unsigned", required = true, min = 1, max = packet.max_payload - HEADERS},
  },
  notes = [[
What is written to the handler data leaves in a segment of up to MTU bytes, which lacks
addresses, ports, numbers and checksums; what doesn't fit waits for the next that is
written. To read data is to pull a segment from input 0: its payload. Packets that come
to input 1 are dropped.]],
}

function BufferConverter:configure(a)
  self.most, self.waiting, self.segment = a.MTU, "", stream.segment()
end

function BufferConverter.process() return nil, 2 end

local function write_data(self, text)
  text = self.waiting .. text
  self.waiting = text:sub(self.most + 1)
  text = text:sub(1, self.most)
  local p = make(#text, stream.PUSH)
  ffi.copy(p.data + HEADERS, text, #text)
  self.emit(1, p)
end

local function read_data(self)
  local s = self.segment
  while true do
    local p = self.pull_from[1]()
    if not p then return "" end
    local sound = stream.look(p, s)
    local text = ""
    if sound then
      text = ffi.string(p.data + s.payload, math.min(s.now, s.length))
      packet.free(p)
    else
      pulls.lose(self, p, NOT_TCP)
    end
    if text ~= "" then return text end
  end
end

BufferConverter.handlers = {data = {read = read_data, write = write_data}}

return {TCPDemux, TCPConn, BufferConverter}
