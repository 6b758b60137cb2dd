-- SPDX-License-Identifier: Apache-2.0
-- RateLimitedRepeater: keeps the packets that it receives, or was made with, and sends
-- copies of them over and over at a rate in bits a second on the wire, which can change
-- at any time. It sends only what its output has room for.

local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local rate = require("lib.traffic.rate")
local schedule = require("net.rate.schedule")

local wire_bits, advance = rate.wire_bits, schedule.advance
local nreadable, nwritable = link.nreadable, link.nwritable
local receive, transmit, clone = link.receive, link.transmit, packet.clone
local max, min = math.max, math.min

local MOST_A_BREATH = 256
-- What was missed is made up for, up to this time or so many packets: a longer burst
-- would be a load that nobody asked for. What is given up beyond that is counted: as
-- `late` if this process wasn't running or not fast enough, as `held` if the output had
-- no room.
local CATCHING_UP_S = 1e-3
-- What is sent later than this after it was due counts as `behind`: it goes together
-- with others, and a device with short queues may lose of them.
local SMOOTH_S = 2e-4

local Repeater = {}
Repeater.__index = Repeater

--- For how long a sender that was late makes up for what it missed, in seconds: a
--- millisecond, or the time of `burst` packets of `bits` each, at `bits_a_second` on
--- the wire, if that is longer.
function Repeater.catching_up(bits_a_second, burst, bits)
  return max(CATCHING_UP_S, max(0, burst - 1) * bits / bits_a_second)
end

--- `arg.frames`: an array of strings, the packets to send besides those received.
--- `packets` and `bits` (on the wire) count what was sent, `late` and `held` the
--- seconds given up since set_rate(), `longest` the seconds of the longest burst (what
--- was due, and went at once), `apart` those from one packet to the next, `behind` the
--- packets sent over 0.2 ms after they were due, since this machine was late.
function Repeater:new(arg)
  local kept = {}
  for i, bytes in ipairs(arg and arg.frames or {}) do
    kept[i] = packet.from_string(bytes)
  end
  return setmetatable({kept = kept, cursor = 1, rate = 0, packets = 0, bits = 0,
                       late = 0, held = 0, longest = 0, apart = 0, behind = 0,
                       full = false, pulled = 0, left = math.huge,
                       schedule = schedule.new(CATCHING_UP_S)}, Repeater)
end

--- The wire's bits of a packet, the mean of those it has; 0 if it has none.
function Repeater:mean_bits()
  local bits = 0
  for _, p in ipairs(self.kept) do bits = bits + wire_bits(p.length) end
  return bits / max(1, #self.kept)
end

--- Send at `bits` a second on the wire from now on; 0: nothing. `most`: no more than so
--- many packets; `left` counts them down. `burst`: the packets that may be sent at once
--- after this machine was late (default: those of a millisecond).
function Repeater:set_rate(bits, most, burst)
  local now = engine.now()
  if bits > 0 then
    local of_one = self:mean_bits()
    self.schedule.catch_up = Repeater.catching_up(bits, burst or 0, of_one)
    self.apart = of_one / bits
  end
  self.longest, self.behind = 0, 0
  self.rate, self.left = bits, most or math.huge
  self.late, self.held, self.full, self.pulled = 0, 0, false, now
  schedule.restart(self.schedule, now)
end

local function keep(self, input)
  for _ = 1, nreadable(input) do self.kept[#self.kept + 1] = receive(input) end
end

-- Send up to n packets, as long as they are due.
local function send(self, output, n, now)
  local kept, cursor, sent, bits = self.kept, self.cursor, 0, 0
  local times, of_a_bit = self.schedule, 1 / self.rate
  local behind, smooth = 0, self.full and -math.huge or now - SMOOTH_S
  for _ = 1, n do
    if times.due >= now then break end
    if times.due < smooth then behind = behind + 1 end
    local p = clone(kept[cursor])
    local size = wire_bits(p.length)
    bits = bits + size
    advance(times, size * of_a_bit)
    transmit(output, p)
    sent = sent + 1
    cursor = cursor < #kept and cursor + 1 or 1
  end
  self.cursor, self.packets = cursor, self.packets + sent
  self.bits, self.behind = self.bits + bits, self.behind + behind
  self.left = self.left - sent
end

-- Is a packet due? Counts what was given up beyond what is made up for.
local function is_due(self, now)
  local times = self.schedule
  local before = times.skipped
  local due = schedule.begin(times, now)
  local why = self.full and now - self.pulled <= CATCHING_UP_S and "held" or "late"
  self[why] = self[why] + times.skipped - before
  if due and not self.full then self.longest = max(self.longest, now - times.due) end
  return due
end

function Repeater:pull()
  local input, output = self.input.input, self.output.output
  if input then keep(self, input) end
  if self.rate == 0 or self.left == 0 or #self.kept == 0 or not output then return end
  local now = engine.now()
  local due, room = is_due(self, now), nwritable(output)
  if due then send(self, output, min(MOST_A_BREATH, room, self.left), now) end
  self.full, self.pulled = room < MOST_A_BREATH and nwritable(output) == 0, now
end

--- The seconds from `now` until a packet is due (below 0: since one was); math.huge if
--- none will be.
function Repeater:due_in(now)
  if self.rate == 0 or self.left == 0 or #self.kept == 0 then return math.huge end
  return self.schedule.due - now
end

--- The same as a time.
function Repeater:due_at(now) return now + self:due_in(now) end

function Repeater:stop()
  for _, p in ipairs(self.kept) do packet.free(p) end
end

return {RateLimitedRepeater = Repeater}
