-- SPDX-License-Identifier: Apache-2.0
-- Generator: packets of any stack, with fields that vary, at a rate. It sends only what
-- its output has room for, so none of them is dropped on the way to the port.

local engine = require("core.app")
local link = require("core.link")
local maker = require("lib.traffic.maker")
local failure = require("core.failure")
local probe = require("lib.traffic.probe")
local rate = require("lib.traffic.rate")
local schedule = require("net.rate.schedule")

local nwritable = link.nwritable
local max, min = math.max, math.min

local KEYS = {
  stack = true, set = true, size = true, flows = true, seed = true, rate = true,
  arrivals = true, packet = true, count = true, held = true, slow_checksums = true,
  stream = true, told_apart = true, payload = true, record = true, clock = true,
}

local Generator = {argument = "table?"}
Generator.__index = Generator

local function check_room(made)
  if made:records() == "none" then
    failure.usage("its packets have no room for a number, by which streams are "
      .. "distinguished: let them have %d bytes or more", made.least)
  end
end

local function parsed(arg)
  local o = {}
  for key, value in pairs(arg or {}) do
    if not KEYS[key] then
      failure.usage("a Generator takes no '%s'", tostring(key))
    end
    o[key] = value
  end
  if type(o.rate) == "string" then
    local value, problem = rate.parse(o.rate)
    if not value then failure.usage("%s", problem) end
    o.rate = value
  end
  if o.count == 0 then failure.usage("a Generator's count is 1 or more") end
  if o.arrivals and o.arrivals ~= "constant" and o.arrivals ~= "poisson" then
    failure.usage("arrivals are constant or poisson, not '%s'", tostring(o.arrivals))
  end
  return o
end

--- `arg` is a table, as lib.traffic.maker takes it (stack, set, size, flows, seed,
--- payload, record, rate, which may be text, arrivals, packet, stream, clock), and
--- besides:
---  count: how many packets to send (default: no end);
---  held: true: nothing is sent until `go()` is called;
---  told_apart: true: refuse packets that have no room for a record.
function Generator:new(arg)
  local o = parsed(arg)
  local made = maker.new(o)
  if o.told_apart then check_room(made) end
  return setmetatable({
    maker = made, state = made.state, rate = o.rate, count = o.count or math.huge,
    can_wait = o.count ~= nil, held = o.held or false, started = false, last = false,
    held_at = false, held_seconds = 0,
    scheduled_from = false, scheduled_before = 0, base = (o.stream or 0) * probe.SPAN,
  }, Generator)
end

--- What was sent counts on, and so do packets' numbers, if it is the same stream. The
--- values of fields begin anew unless only the rate, the arrivals and the count change.
function Generator.reconfig_keeps(fresh, running)
  local figures = running:figures()
  fresh.maker:go_on_from(running.maker, fresh.base == running.base)
  fresh.maker.schedule.latest = figures.latest
  fresh.scheduled_before = figures.scheduled
  return {"held", "started", "last", "held_at", "held_seconds"}
end

function Generator:link()
  self.sink = self.output.output
end
Generator.unlink = Generator.link

--- Send from now on. What was held isn't made up for, nor is anything sent early.
function Generator:go()
  if self.held and self.scheduled_from then
    local times = self.maker.schedule
    schedule.restart(times, max(engine.now() - self.scheduled_from, times.due))
  end
  if self.held_at then
    self.last = engine.now()
    self.held_seconds = self.held_seconds + (self.last - self.held_at)
  end
  self.held, self.held_at = false, false
end

--- Stop to send.
function Generator:hold()
  if self.started and not self.held and not self:done() then
    self.held_at = engine.now()
  end
  self.held = true
end

--- No more is sent: what has been is all.
function Generator:finish()
  self:hold()
  self.count = self.state.sent
end

--- Have all packets of the count been sent?
function Generator:done()
  return self.state.sent >= self.count
end

--- The time of the next packet, on the clock of engine.now().
function Generator:due_at(now)
  if self.held or not self.sink or self:done() then return math.huge end
  if not (self.maker.paced and self.scheduled_from) then return now end
  return self.scheduled_from + self.maker.schedule.due
end

function Generator:pull()
  local sink = self.sink
  if self.held or not sink then return end
  local now = engine.now()
  if not self.scheduled_from then
    self.started, self.scheduled_from = self.started or now, now
  end
  local left = self.count - self.state.sent
  local n = min(engine.pull_npackets, nwritable(sink), left)
  if left > 0 then self.last = now end
  if n > 0 then self.maker:burst(sink, n, now - self.scheduled_from) end
end

--- Packets and bits (on the wire) sent so far.
function Generator:progress()
  local s = self.state
  return s.sent, 8 * (s.wire + 24 * s.sent)
end

--- What was sent: a table of `packets`, `bytes`, `bits` (on the wire), `numbered`
--- (packets with a record), `seconds` (from the first packet to the last, without
--- those in which it was held), and of a
--- rate (net.rate.schedule): `scheduled`, the seconds they should have taken, and
--- `latest`, the most that one was late.
function Generator:figures()
  local s, times = self.state, self.maker.schedule
  return {
    packets = s.sent, bytes = s.length, bits = 8 * (s.wire + 24 * s.sent),
    numbered = s.number - self.base,
    seconds = self.last and self.last - self.started - self.held_seconds or 0,
    latest = times.latest,
    scheduled = self.scheduled_before + times.due - times.skipped,
  }
end

function Generator:report()
  local f = self:figures()
  print(("  %.0f packets, %.0f bytes"):format(f.packets, f.bytes))
end

return {Generator = Generator}
