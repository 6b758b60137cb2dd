-- SPDX-License-Identifier: Apache-2.0
-- TwoSides: a Replayer with two outputs, `client` and `server`: what a capture's
-- clients have sent, and its servers. All goes out in the order of the file: a packet
-- to one output waits until those to the other have left.

local counter = require("core.counter")
local engine = require("core.app")
local ethernet = require("net.wire.ethernet")
local link = require("core.link")
local packet = require("core.packet")
local schedule = require("net.rate.schedule")
local sides = require("apps.pcap.sides")
local Replayer = require("apps.pcap.replayer").Replayer
local Rewriter = require("apps.rewrite.rewriter").Rewriter

local TwoSides = setmetatable({
  shm = {packets = {counter}, oversize = {counter}, dropped = {counter}},
  link_names = {output = {client = true, server = true}},
}, {__index = Replayer})
TwoSides.__index = TwoSides

--- As Replayer, and `arg.sides`, a text as for apps.pcap.sides; `arg.rewrite`: the
--- argument of a Rewriter that each packet goes through, after its side is known.
--- Field besides those: `dropped`, packets that the Rewriter has dropped, by the place
--- of their name in its `drops`.
function TwoSides:new(arg)
  local app = Replayer:new(arg)
  app.side_of, app.side = sides.new(arg.sides), 0
  app.rewriter = arg.rewrite and Rewriter:new(arg.rewrite) or false
  app.dropped = {0, 0}
  return setmetatable(app, TwoSides)
end

-- The next packet waits in `place`; false: there is none.
local function fetch(self)
  local data, length, time = self:next_of_loops()
  if not data then
    self.done = true
    return false
  elseif length > packet.max_payload then
    self.oversize = self.oversize + 1
    return true
  end
  self.place.data, self.place.time, self.waits = data, time, length
  self.side = self.side_of(data, length)
  local gap = self.gap(length, time)
  self.scheduled = self.scheduled + gap
  schedule.advance(self.times, gap)
  return true
end

local function send(self, output)
  local length = self.waits
  local p = packet.from_pointer(self.place.data, length)
  local kept, why = p, nil
  if self.rewriter then kept, why = self.rewriter:process(p) end
  if kept then
    length = kept.length
    link.transmit(output, kept)
    self.bytes, self.bits = self.bytes + length, self.bits + ethernet.bits(length)
  else
    packet.free(p)
    self.dropped[why] = self.dropped[why] + 1
  end
  self.packets, self.waits = self.packets + 1, 0
end

local function send_due(self, now)
  local client = assert(self.output.client, "TwoSides' output 'client' isn't linked")
  local server = assert(self.output.server, "TwoSides' output 'server' isn't linked")
  for _ = 1, engine.pull_npackets do
    if self.packets >= self.limit then self.done = true end
    if self.done or self.waits == 0 and not fetch(self) then return end
    if self.waits > 0 then
      local output, other = client, server
      if self.side == sides.SERVER then output, other = server, client end
      if not schedule.begin(self.times, now) or not link.empty(other)
        or link.full(output) then
        return
      end
      send(self, output)
    end
  end
end

function TwoSides:pull()
  if self.done or self.held then return end
  local now = engine.now()
  if not self.started then
    self.started = now
    schedule.restart(self.times, now)
  end
  send_due(self, now)
  counter.set(self.shm.packets, self.packets)
  counter.set(self.shm.oversize, self.oversize)
  counter.set(self.shm.dropped, self.dropped[1] + self.dropped[2])
end

return {TwoSides = TwoSides}
