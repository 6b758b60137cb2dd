-- SPDX-License-Identifier: Apache-2.0
-- Replayer: a PcapReader that sends packets when they are due, and may go through
-- its file more than once. A link without room delays packets, and drops none.

local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")
local arguments = require("core.lib.arguments")
local PcapReader = require("apps.pcap.pcap").PcapReader
local reader = require("lib.pcap.reader")
local gaps = require("apps.pcap.schedule")
local schedule = require("net.rate.schedule")

-- A pointer in a table would be an object for the garbage collector, each time.
local place_t = ffi.typeof("struct { const uint8_t *data; int64_t time; }")

local M = {}

local Replayer = setmetatable({argument = "table"}, {__index = PcapReader})
Replayer.__index = Replayer
M.Replayer = Replayer

local function schedule_of(arg)
  local kinds = {packet_rate = arg.packet_rate, bit_rate = arg.bit_rate,
                 recorded = arg.speed}
  local kind, value = next(kinds)
  if not kind then
    return gaps.topspeed()
  elseif next(kinds, kind) then
    failure.usage("Replayer takes one of packet_rate, bit_rate and speed")
  elseif type(value) ~= "number" or not (value > 0 and value < math.huge) then
    failure.usage("Replayer can't keep the rate or speed %s; it must be above 0",
                  tostring(value))
  end
  return gaps[kind](value)
end

local function set_limits(app, arg)
  arguments.check("Replayer: loops", "number?", arg.loops)
  arguments.check("Replayer: limit", "number?", arg.limit)
  local is_rate = arg.packet_rate or arg.bit_rate
  app.times.catch_up = is_rate and schedule.CATCH_UP_S or math.huge
  app.loops = arg.loops or 1
  app.limit = arg.limit or math.huge
end

--- Replay a savefile. `arg` is a table:
---  filename: of a pcap or pcapng file of Ethernet frames;
---  packet_rate (packets/s), bit_rate (bits/s on the wire) or speed (1: as recorded,
---    2: twice as fast): at most one of them; none: as fast as the link takes them;
---  loops: how many times to go through the file (default 1; math.huge: for ever);
---  limit: the most packets to send (default: any number).
--- Fields besides PcapReader's: `bytes` and `bits` (on the wire) sent; `started`, the
--- time (engine.now) the first packet was due; `scheduled`, the seconds from there
--- to the last packet sent, had nothing been late.
function Replayer:new(arg)
  local gap = schedule_of(arg)
  arguments.check("Replayer: filename", "string", arg.filename)
  local app = PcapReader.of(reader.open(arg.filename))
  app.gap, app.times = gap, schedule.new()
  set_limits(app, arg)
  app.loop = 1
  app.bytes, app.bits = 0, 0
  app.sent_before_loop = 0
  app.place, app.waits = place_t(), 0  -- the packet that waits; its length, or 0
  app.scheduled, app.held = 0, false
  return setmetatable(app, Replayer)
end

--- Another rate or speed, as new() has them: what waits is sent at once.
function Replayer:set_timing(arg)
  self.gap = schedule_of(arg)
  if self.waits > 0 then self.gap(self.waits, self.place.time) end
  set_limits(self, arg)
  schedule.restart(self.times, engine.now())
end

--- Send nothing until go(), which makes up for nothing.
function Replayer:hold() self.held = true end

function Replayer:go()
  if not self.held then return end
  self.held = false
  if self.started then schedule.restart(self.times, engine.now()) end
end

--- Go on from the place in the file, at another rate.
function Replayer:reconfig(arg)
  self:set_timing(arg)
  self.done = self.failure ~= nil or self.packets >= self.limit
    or self.done and self.loop >= self.loops
end

--- Another file is another app.
function Replayer.reconfig_restarts(before, after)
  return before.filename ~= after.filename
end

-- Back to the file's start, if it is to be replayed again (and has a packet at all).
local function next_loop(self)
  if self.loop >= self.loops or self.packets == self.sent_before_loop then
    return false
  end
  self.loop = self.loop + 1
  self.sent_before_loop = self.packets
  return self:rewind()
end

--- When the next packet is due, on the clock of engine.now().
function Replayer:due_at(now)
  if self.done or self.held then return math.huge end
  if not self.started or self.waits == 0 then return now end
  return self.times.due
end

-- Is this packet due, which comes behind the one that was scheduled before it?
local function is_due(self, length, time, now)
  local gap = self.gap(length, time)
  self.scheduled = self.scheduled + gap
  schedule.advance(self.times, gap)
  return schedule.begin(self.times, now)
end

local function send(self, output, data, length)
  link.transmit(output, packet.from_pointer(data, length))
  self.packets = self.packets + 1
  self.bytes = self.bytes + length
  self.bits = self.bits + ethernet.bits(length)
end

--- The next packet of the file, or of its next loop: its bytes, their number, its time;
--- nil at the end of the last.
function Replayer:next_of_loops()
  local data, length, _, time = self:next_packet()
  if not data and not self.failure and next_loop(self) then
    data, length, _, time = self:next_packet()
  end
  return data, length, time
end

-- Up to `n` packets, until one isn't due: that one will wait in `place` and `waits`.
-- All iterations have one shape, and what is kept between them keeps its type: the
-- JIT compiler gives up on a loop whose first iteration is of another kind.
local function send_due(self, output, n, now)
  for _ = 1, n do
    local data, length, time = self:next_of_loops()
    if not data then
      self.done = true
      return
    elseif length > packet.max_payload then
      self.oversize = self.oversize + 1
    elseif not is_due(self, length, time, now) then
      self.place.data, self.place.time, self.waits = data, time, length
      return
    else
      send(self, output, data, length)
    end
  end
end

function Replayer:burst(output, n)
  if self.held then return end
  local now = engine.now()
  if not self.started then
    self.started = now
    schedule.restart(self.times, now)
  end
  n = math.min(n, self.limit - self.packets)
  if n > 0 and self.waits > 0 then
    if not schedule.begin(self.times, now) then return end
    send(self, output, self.place.data, self.waits)
    self.waits, n = 0, n - 1
  end
  send_due(self, output, n, now)
  if self.packets >= self.limit then self.done = true end
end

return M
