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
-- What was missed while the rate couldn't be kept is made up for, up to this much.
local CATCHING_UP_S = 0.1

local Repeater = {}
Repeater.__index = Repeater

--- `arg.frames`: an array of strings, the packets to send besides those received.
--- `packets` and `bits` (on the wire) count what was sent.
function Repeater:new(arg)
  local kept = {}
  for i, bytes in ipairs(arg and arg.frames or {}) do
    kept[i] = packet.from_string(bytes)
  end
  return setmetatable({kept = kept, cursor = 1, rate = 0, since = 0, ahead = 0,
                       packets = 0, bits = 0}, Repeater)
end

--- Send at `bits` a second on the wire from now on; 0: nothing.
function Repeater:set_rate(bits)
  self.rate, self.since, self.ahead = bits, engine.now(), 0
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
end

function Repeater:pull()
  local input, output = self.input.input, self.output.output
  if input then keep(self, input) end
  if self.rate == 0 or #self.kept == 0 or not output then return end
  local due = (engine.now() - self.since) * self.rate - self.ahead
  local most = CATCHING_UP_S * self.rate
  if due > most then self.ahead, due = self.ahead + due - most, most end
  if due > 0 then send(self, output, min(MOST_A_BREATH, nwritable(output)), due) end
end

function Repeater:stop()
  for _, p in ipairs(self.kept) do packet.free(p) end
end

return {RateLimitedRepeater = Repeater}
