-- SPDX-License-Identifier: Apache-2.0
-- Meter: what became of a Generator's packets, of this process or another: loss,
-- duplicates, reordering, and how long they were under way. Packets go on to its output
-- if it has one, else they end here.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local headers = require("lib.traffic.headers")
local latency = require("lib.traffic.latency")
local link = require("core.link")
local packet = require("core.packet")
local probe = require("lib.traffic.probe")
local real_clock = require("lib.traffic.real_clock")
local sequence = require("lib.traffic.sequence")

local receive, transmit, free = link.receive, link.transmit, packet.free
local read, count, add = probe.read, sequence.add, latency.add
local cast, SPAN = ffi.cast, probe.SPAN
local int64 = ffi.typeof("int64_t")

ffi.cdef [[
struct perigee_metered {
  double packets, bytes, wire;  /* wire: bytes of frames padded to 60 */
  double other;                 /* packets without a record */
  double unclear;               /* records of another clock */
  double real;                  /* records whose time is a real clock's */
  double early, earliest;       /* that came before their time; by ns, at most */
  double sender_error;          /* ns that the senders' clock may be wrong, at most */
  bool unknown;                 /* or nobody knows how far */
};
]]

-- An hour: no packet is under way for longer, so its time is of another clock.
local MOST_NS = 3600e9

-- So long after a packet the next is looked for without a pause, so that the time at
-- which it came is right.
local AWAKE_S = 1

local Meter = {argument = "table?"}
Meter.__index = Meter

--- Where packets of the stack with that payload (both may be nil) have their records: a
--- list, first the place behind the payload.
function Meter.places(stack, payload)
  local size = headers.parse(stack or "eth,ip4,udp").size
  if #(payload or "") == 0 then return {size} end
  return {size + #payload, size}
end

local function places_of(arg)
  if arg.offset == nil then
    return arg.places or Meter.places(arg.stack, arg.payload)
  end
  if type(arg.offset) ~= "number" or arg.offset < 0 or arg.offset % 1 ~= 0 then
    failure.usage("a Meter's offset is a whole number of bytes, not '%s'",
      tostring(arg.offset))
  end
  return {arg.offset}
end

--- `arg` is a table: `stack`, that of the packets (as a Generator's; default
--- "eth,ip4,udp") and `payload`, or `offset`, where in the packet the record is, or
--- `places`, a list of where it may be; `stream`, as the Generator's (default 0);
--- `clock`, the lib.traffic.real_clock for packets whose time is another machine's.
function Meter:new(arg)
  local places = places_of(arg or {})
  return setmetatable({
    offset = places[1], others = #places > 1 and places,
    tally = ffi.new("struct perigee_metered"),
    sequence = sequence.new(), latency = latency.new(),
    ns_per_tick = 1e9 / tonumber(C.pg_tsc_hz()), first = false, last = false,
    sender = false, missing = 0, fewest = 0, next_count = 0,
    base = (arg and arg.stream or 0) * probe.SPAN,
    clock = arg and arg.clock or false, real_now = false, code = false,
  }, Meter)
end

--- What was received counts on; the numbers that packets bear do, if it is the same
--- stream.
function Meter.reconfig_keeps(fresh, running)
  return {"tally", "latency", "first", "last",
          fresh.base == running.base and "sequence" or nil}
end

function Meter:link()
  self.source, self.sink = self.input.input, self.output.output
end
Meter.unlink = Meter.link

-- The number and the time of a packet whose record isn't at the first place; or nil.
local function find(places, p)
  for i = 2, #places do
    if p.length >= places[i] + probe.SIZE then
      local number, time = read(p.data + places[i])
      if number then return number, time end
    end
  end
end

local function note_error(self, tally, code)
  local error = real_clock.decode(code)
  if error then tally.sender_error = math.max(tally.sender_error, 1e9 * error) end
  tally.unknown = tally.unknown or not error
  self.code = code
end

-- A packet of another machine's, whose clock may be ahead of this one's.
local function look_at_real(self, tally, time)
  self.clock = self.clock or real_clock.new()
  self.real_now = self.real_now or self.clock:now()
  tally.real = tally.real + 1
  local code = real_clock.code_of(time)
  if code ~= self.code then note_error(self, tally, code) end
  local ns = real_clock.since(time, self.real_now)
  if ns < -MOST_NS or ns > MOST_NS then
    tally.unclear = tally.unclear + 1
  elseif ns < 0 then
    tally.early = tally.early + 1
    tally.earliest = math.max(tally.earliest, -ns)
  else
    add(self.latency, ns)
  end
end

local function look(self, tally, p, now)
  local offset, size = self.offset, p.length
  tally.packets = tally.packets + 1
  tally.bytes = tally.bytes + size
  tally.wire = tally.wire + (size < 60 and 60 or size)
  local number, time
  if size >= offset + probe.SIZE then number, time = read(p.data + offset) end
  if not number and self.others then number, time = find(self.others, p) end
  number = number and number - self.base
  if not number or number < 0 or number >= SPAN then -- none, or another stream's
    tally.other = tally.other + 1
    return
  end
  count(self.sequence, number)
  if real_clock.is_real(time) then return look_at_real(self, tally, time) end
  local ns = tonumber(cast(int64, now - time)) * self.ns_per_tick
  if ns < 0 or ns > MOST_NS then
    tally.unclear = tally.unclear + 1
  else
    add(self.latency, ns)
  end
end

local function look_and_free(self, input, n, now)
  local tally = self.tally
  for _ = 1, n do
    local p = receive(input)
    look(self, tally, p, now)
    free(p)
  end
end

local function look_and_pass(self, input, output, n, now)
  local tally = self.tally
  for _ = 1, n do
    local p = receive(input)
    look(self, tally, p, now)
    transmit(output, p)
  end
end

Meter.needs_packets = true

-- Are packets of its sender under way? As many as are always missing are lost.
local function is_coming(self, now)
  local missing = self.sender.state.sent - self.tally.packets
  self.fewest = math.min(self.fewest, missing)
  if now >= self.next_count then
    self.missing, self.fewest, self.next_count = self.fewest, missing, now + AWAKE_S
  end
  return missing > self.missing
end

--- It is to be looked at without a pause while packets come: those of the Generator
--- `sender` (a field), or, if it is false, any a moment ago.
function Meter:due_at(now)
  local awake
  if self.sender then
    awake = is_coming(self, now)
  else
    awake = self.last and now - self.last < AWAKE_S
  end
  return awake and now or math.huge
end

--- All packets of a burst count as received now.
function Meter:push()
  local input, output = self.source, self.sink
  local n = input and link.nreadable(input) or 0
  if n == 0 then return end
  self.last = C.pg_now()
  self.first = self.first or self.last
  local now = C.pg_tsc()
  self.real_now = false
  if output then
    look_and_pass(self, input, output, n, now)
  else
    look_and_free(self, input, n, now)
  end
end

--- Packets and bits (on the wire) received so far, and those that seem to be lost.
function Meter:progress()
  local t = self.tally
  return t.packets, 8 * (t.wire + 24 * t.packets), sequence.lost(self.sequence)
end

-- Of packets that bear another machine's time: how far latencies may be wrong.
local function one_way(self)
  local t = self.tally
  if t.real == 0 then return nil end
  self.clock.error:ask()
  local error, source = self.clock:bound()
  return {
    packets = t.real, early = t.early, earliest_ns = t.early > 0 and t.earliest or nil,
    sender_error_ns = not t.unknown and t.sender_error or nil,
    receiver_error_ns = error and 1e9 * error, receiver_source = source,
    error_ns = not t.unknown and error and t.sender_error + 1e9 * error or nil,
  }
end

--- What was received: a table of `packets`, `bytes`, `bits` (on the wire), `numbered`
--- (with a record), `other`, `lost`, `duplicates`, `reordered`, `too_late`
--- (lib.traffic.sequence), `unclear` (no latency: the clocks differ), `seconds` (from
--- the first packet to the last), `latency` (lib.traffic.latency's summary; nil: none),
--- `one_way` (packets with another machine's time: `packets`, `early`, `earliest_ns`,
--- `sender_error_ns`, `receiver_error_ns`, `receiver_source`, `error_ns`; nil: none).
--- `sent`: how many packets with a record were sent, if that is known.
function Meter:figures(sent)
  local t, s = self.tally, self.sequence
  return {
    packets = t.packets, bytes = t.bytes, bits = 8 * (t.wire + 24 * t.packets),
    other = t.other, numbered = t.packets - t.other, distinct = s.distinct,
    lost = sequence.lost(s, sent), duplicates = s.duplicates,
    reordered = s.reordered, too_late = s.too_late, unclear = t.unclear,
    seconds = self.first and self.last - self.first or 0,
    latency = latency.summary(self.latency), one_way = one_way(self),
  }
end

function Meter:report()
  local f = self:figures()
  print(("  %.0f packets, %.0f numbered; %.0f lost, %.0f duplicates, %.0f reordered")
    :format(f.packets, f.numbered, f.lost, f.duplicates, f.reordered))
end

return {Meter = Meter}
