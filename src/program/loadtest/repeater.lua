-- SPDX-License-Identifier: Apache-2.0
-- RateLimitedRepeater: keeps the packets that it receives, or was made with, and sends
-- copies of them over and over at a rate in bits a second on the wire, which can change
-- at any time. It sends only what its output has room for.

local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local rate = require("lib.traffic.rate")

local wire_bits = rate.wire_bits
local nreadable, nwritable = link.nreadable, link.nwritable
local receive, transmit, clone = link.receive, link.transmit, packet.clone
local min = math.min

local MOST_A_BREATH = 256
-- What was missed is made up for, up to this much: a longer burst would be a load that
-- nobody asked for. What is given up beyond that is counted: as `late` if this process
-- wasn't running or not fast enough, as `held` if the output had no room.
local CATCHING_UP_S = 1e-3

local Repeater = {CATCHING_UP_S = CATCHING_UP_S}
Repeater.__index = Repeater

--- `arg.frames`: an array of strings, the packets to send besides those received.
--- `packets` and `bits` (on the wire) count what was sent, `late` and `held` the
--- seconds given up since set_rate().
function Repeater:new(arg)
  local kept = {}
  for i, bytes in ipairs(arg and arg.frames or {}) do
    kept[i] = packet.from_string(bytes)
  end
  return setmetatable({kept = kept, cursor = 1, rate = 0, since = 0, ahead = 0,
                       packets = 0, bits = 0, late = 0, held = 0, full = false,
                       pulled = 0, left = math.huge}, Repeater)
end

--- Send at `bits` a second on the wire from now on; 0: nothing. `most`: no more than so
--- many packets; `left` counts them down.
function Repeater:set_rate(bits, most)
  self.rate, self.since, self.ahead = bits, engine.now(), 0
  self.left = most or math.huge
  self.late, self.held, self.full, self.pulled = 0, 0, false, self.since
end

local function keep(self, input)
  for _ = 1, nreadable(input) do self.kept[#self.kept + 1] = receive(input) end
end

-- Send up to n packets, as long as `due` bits are due.
local function send(self, output, n, due)
  local kept, cursor, sent, bits = self.kept, self.cursor, 0, 0
  for _ = 1, n do
    if bits >= due then break end
    local p = clone(kept[cursor])
    bits = bits + wire_bits(p.length)
    transmit(output, p)
    sent = sent + 1
    cursor = cursor < #kept and cursor + 1 or 1
  end
  self.cursor, self.packets = cursor, self.packets + sent
  self.bits, self.ahead = self.bits + bits, self.ahead + bits
  self.left = self.left - sent
end

-- Give up what is due beyond what is made up for; the bits that are due then.
local function capped(self, now, due)
  local most = CATCHING_UP_S * self.rate
  if due <= most then return due end
  local seconds = (due - most) / self.rate
  if self.full and now - self.pulled <= CATCHING_UP_S then
    self.held = self.held + seconds
  else
    self.late = self.late + seconds
  end
  self.ahead = self.ahead + due - most
  return most
end

function Repeater:pull()
  local input, output = self.input.input, self.output.output
  if input then keep(self, input) end
  if self.rate == 0 or self.left == 0 or #self.kept == 0 or not output then return end
  local now = engine.now()
  local due = capped(self, now, (now - self.since) * self.rate - self.ahead)
  local room = nwritable(output)
  if due > 0 then send(self, output, min(MOST_A_BREATH, room, self.left), due) end
  self.full, self.pulled = room < MOST_A_BREATH and nwritable(output) == 0, now
end

function Repeater:stop()
  for _, p in ipairs(self.kept) do packet.free(p) end
end

return {RateLimitedRepeater = Repeater}
