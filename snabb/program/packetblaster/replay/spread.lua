-- SPDX-License-Identifier: Apache-2.0
-- Spread: a copy of each input packet to every output, once or over and over. It
-- sends only what an output has room for, so that no packet of a file is lost.

local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")

local nreadable, nwritable = link.nreadable, link.nwritable
local receive, transmit = link.receive, link.transmit

local Spread = {}
Spread.__index = Spread

--- `arg.loop`: keep the packets and send them for ever, to each output at its own
--- pace. Otherwise each is sent once, at the pace of the slowest output.
function Spread:new(arg)
  return setmetatable({loop = arg.loop, packets = {}, cursors = {}}, Spread)
end

local function keep(self, input)
  for _ = 1, nreadable(input) do
    self.packets[#self.packets + 1] = receive(input)
  end
end

local function send_kept(packets, output, cursor, n)
  for _ = 1, n do
    transmit(output, packet.clone(packets[cursor]))
    cursor = cursor < #packets and cursor + 1 or 1
  end
  return cursor
end

local function send_once(input, outputs, n)
  for _ = 1, n do
    local p = receive(input)
    for o = 1, #outputs - 1 do
      transmit(outputs[o], packet.clone(p))
    end
    transmit(outputs[#outputs], p)
  end
end

function Spread:push()
  local input, outputs = self.input.input, self.output
  if not self.loop then
    local n = nreadable(input)
    for o = 1, #outputs do
      n = math.min(n, nwritable(outputs[o]))
    end
    return send_once(input, outputs, n)
  end
  keep(self, input)
  for o = 1, #self.packets > 0 and #outputs or 0 do
    local n = math.min(engine.pull_npackets, nwritable(outputs[o]))
    self.cursors[o] = send_kept(self.packets, outputs[o], self.cursors[o] or 1, n)
  end
end

function Spread:stop()
  for _, p in ipairs(self.packets) do
    packet.free(p)
  end
end

return {Spread = Spread}
