-- SPDX-License-Identifier: Apache-2.0
-- Replayer: a PcapReader that sends packets when they are due, and may go through
-- its file more than once. A link without room delays packets, and drops none.

local ffi = require("ffi")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")
local PcapReader = require("apps.pcap.pcap").PcapReader
local schedule = require("apps.pcap.schedule")

-- What was missed while a rate couldn't be kept is made up for, up to this much.
local MOST_CATCHING_UP_S = 0.1

-- A pointer in a table would be an object for the garbage collector, each time.
local place_t = ffi.typeof("struct { const uint8_t *data; }")

local M = {}

local Replayer = setmetatable({}, {__index = PcapReader})
Replayer.__index = Replayer
M.Replayer = Replayer

local function schedule_of(arg)
  local kinds = {packet_rate = arg.packet_rate, bit_rate = arg.bit_rate,
                 recorded = arg.speed}
  local kind, value = next(kinds)
  if not kind then
    return schedule.topspeed()
  elseif next(kinds, kind) then
    failure.usage("Replayer takes one of packet_rate, bit_rate and speed")
  elseif type(value) ~= "number" or value <= 0 or value == math.huge then
    failure.usage("Replayer can't keep the rate or speed %s; it must be above 0",
                  tostring(value))
  end
  return schedule[kind](value)
end

--- Replay a savefile. `arg` is a table:
---  filename: of a pcap or pcapng file;
---  packet_rate (packets/s), bit_rate (bits/s on the wire) or speed (1: as recorded,
---    2: twice as fast): at most one of them; none: as fast as the link takes them;
---  loops: how many times to go through the file (default 1; math.huge: for ever);
---  limit: the most packets to send (default: any number).
--- Fields besides PcapReader's: `bytes` and `bits` (on the wire) sent; `started`, the
--- time (engine.now) the first packet was due; `scheduled`, the seconds from there
--- to the last packet sent, had nothing been late.
function Replayer:new(arg)
  local gap = schedule_of(arg)
  local app = PcapReader:new(arg.filename)
  app.gap = gap
  app.is_rate = arg.packet_rate ~= nil or arg.bit_rate ~= nil
  app.loops = arg.loops or 1
  app.limit = arg.limit or math.huge
  app.loop = 1
  app.bytes, app.bits = 0, 0
  app.sent_before_loop = 0
  app.place, app.length = place_t(), false  -- of the packet that waits
  app.due, app.scheduled = false, 0
  return setmetatable(app, Replayer)
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

local function schedule_packet(self, data, length, time, now)
  local gap = self.gap(length, time)
  if self.due then
    self.due = self.due + gap
    self.scheduled = self.scheduled + gap
  else
    self.started, self.due = now, now
  end
  if self.is_rate and self.due < now - MOST_CATCHING_UP_S then
    self.due = now - MOST_CATCHING_UP_S
  end
  self.place.data, self.length = data, length
end

-- Read one packet of the file, to wait in `place` and `length`, or go on to the next
-- loop. Returns false when there is no more to come. (It isn't a loop of its own: the
-- JIT compiler would choose it for a trace rather than the burst's.)
local function fetch(self, now)
  local data, length, _, time = self:next_packet()
  if not data then
    return not self.failure and next_loop(self)
  elseif length > packet.max_payload then
    self.oversize = self.oversize + 1
  else
    schedule_packet(self, data, length, time, now)
  end
  return true
end

local function send(self, output)
  local length = self.length
  link.transmit(output, packet.from_pointer(self.place.data, length))
  self.packets = self.packets + 1
  self.bytes = self.bytes + length
  self.bits = self.bits + schedule.wire_bits(length)
  self.length = false
end

-- Is there a packet to be sent now? Fetches the next if there is none that waits.
local function due(self, now)
  while not self.length do
    if self.packets >= self.limit or not fetch(self, now) then
      self.done = true
      return false
    end
  end
  return self.due <= now
end

function Replayer:burst(output, n)
  local now = engine.now()
  for _ = 1, n do
    if not due(self, now) then break end
    send(self, output)
  end
end

return M
