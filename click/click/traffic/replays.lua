-- SPDX-License-Identifier: Apache-2.0
-- What the elements share that load all packets they can pull into memory, then give
-- copies of them, again and again (Replay, ReplayUnqueue, ...). With several inputs,
-- packets are put in the order of their timestamps.

local element = require("click.element")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local signals = require("click.router.signals")

local TIMESTAMP = note.TIMESTAMP
local FIRST_ROOM = 1024 -- packets

local clone, copy_notes = packet.clone, note.copy

local COMMON = {
  {"STOP", "int", default = -1, keyword = true},
  {"STOP_TIME", "unsigned", default = 0, keyword = true},
  {"QUICK_CLONE", "bool", default = false, keyword = true},
  {"BURST", "unsigned", default = 64, keyword = true},
  {"VERBOSE", "bool", default = false, keyword = true},
  {"FREEONTERMINATE", "bool", default = true, keyword = true},
  {"LIMIT", "int", default = -1, keyword = true},
  {"ACTIVE", "bool", default = true, keyword = true},
  {"USE_SIGNAL", "bool", default = false, keyword = true},
}

local replays = {}

local Replays = {}

function Replays:configure(a)
  self.loops, self.most_seconds, self.burst = a.STOP, a.STOP_TIME, math.max(a.BURST, 1)
  self.verbose, self.keep, self.limit = a.VERBOSE, a.FREEONTERMINATE, a.LIMIT
  self.active, self.use_signal = a.ACTIVE, a.USE_SIGNAL
  self.loaded, self.n, self.at, self.first_kept = false, 0, 0, 0
  if self.configure_more then self:configure_more(a) end
end

-- Loading -------------------------------------------------------------------------

local function make_room(self, room)
  local packets = ffi.new("struct packet *[?]", room)
  local inputs, offsets = ffi.new("uint8_t[?]", room), ffi.new("double[?]", room)
  if self.n > 0 then
    ffi.copy(packets, self.packets, self.n * ffi.sizeof("void *"))
    ffi.copy(inputs, self.from, self.n)
    ffi.copy(offsets, self.offsets, self.n * ffi.sizeof("double"))
  end
  self.packets, self.from, self.offsets, self.room = packets, inputs, offsets, room
end

-- Keep the packet of input `i` (from 0).
local function keep(self, p, i)
  local n = self.n
  if n == self.room then make_room(self, n * 2) end
  self.packets[n], self.from[n] = p, i
  if n == 0 then self.base = ffi.cast("int64_t", p.note64[TIMESTAMP]) end
  local since = ffi.cast("int64_t", p.note64[TIMESTAMP]) - self.base
  self.offsets[n] = tonumber(since) / 1e9
  self.n = n + 1
end

local function pull(self, i)
  local p = self.pull_from[i]()
  while not p and self.use_signal and signals.any(self.upstream[i]) do
    p = self.pull_from[i]()
  end
  return p
end

-- Have a packet of each input at hand; the number of one that has none, from 0, or nil.
local function fetch(self, hand)
  for i = 1, self.ninputs do
    hand[i] = hand[i] or pull(self, i)
    if not hand[i] then return i - 1 end
  end
end

local function earliest(hand)
  local first = 1
  for i = 2, #hand do
    if hand[i].note64[TIMESTAMP] < hand[first].note64[TIMESTAMP] then first = i end
  end
  return first
end

local function begin_loop(self)
  self.at, self.scale_from = 0, 0
  self.began = self.router:steady()
  self.started = self.started or self.began
end

local function load_packets(self)
  self:say("Loading %s with %d inputs.", self.name, self.ninputs)
  make_room(self, FIRST_ROOM)
  local hand, dry = {}, nil
  while self.limit < 0 or self.n < self.limit do
    dry = fetch(self, hand)
    if dry then break end
    local i = earliest(hand)
    keep(self, hand[i], i - 1)
    hand[i] = false
  end
  for _, p in pairs(hand) do
    if p then packet.free(p) end
  end
  self:say("%s : Successfully loaded %d packets. Input %d dried out.", self.name,
    self.n, dry or -1)
  self.loaded = true
  begin_loop(self)
end

local function unload(self)
  for i = self.first_kept or 0, (self.n or 0) - 1 do packet.free(self.packets[i]) end
  self.loaded, self.n, self.at, self.first_kept = false, 0, 0, 0
end

--- Free all packets.
replays.unload = unload

function Replays:cleanup() unload(self) end

-- Giving --------------------------------------------------------------------------

--- The packet at hand, or a copy of it; it goes on to the next.
function replays.take(self)
  local at = self.at
  local p = self.packets[at]
  self.at = at + 1
  if self.loops == 1 and not self.keep then
    self.first_kept = at + 1
    return p
  end
  local q = clone(p)
  copy_notes(q, p)
  return q
end

--- Ask the router to stop, and give nothing any more.
function replays.stop(self)
  self.router:stop()
  self.active, self.started = false, nil
  if self.signal then self.signal:set(false) end
end

local function report(self, fmt, ...)
  if self.verbose then self:say(fmt, ...) end
end

--- Is STOP_TIME over?
function replays.time_is_over(self)
  if self.most_seconds == 0 then return false end
  return self.router:steady() - self.started >= self.most_seconds
end

--- All packets have been given once more. False if that was the last time.
function replays.end_loop(self)
  if self.loops > 0 then self.loops = self.loops - 1 end
  if replays.time_is_over(self) then self.loops = 0 end
  report(self, "%s :: %s: end of a loop; %d are left", self.name, self.class.name,
    self.loops)
  if self.loops == 0 then
    replays.stop(self)
    return false
  end
  begin_loop(self)
  return true
end

--- Is there a packet to give? It loads them first.
function replays.ready(self)
  if not self.active then return false end
  if not self.loaded then load_packets(self) end
  if self.loops == 0 then
    replays.stop(self)
    return false
  end
  return self.n > self.first_kept
end

-- Handlers ------------------------------------------------------------------------

local function set_active(self)
  if self.loaded then begin_loop(self) end
  if self.signal then self.signal:set(self.active) end
  if not self.class.task then return end
  if self.active then self:schedule() else self:unschedule() end
end

local function handlers(more)
  local all = {
    active = element.data("active", "bool", set_active),
    reset = element.command(unload),
    loaded = element.data("loaded"),
    stop = element.data("loops", "int"),
  }
  for name, handler in pairs(more or {}) do all[name] = handler end
  return all
end

--- Look for signals upstream, which say when there is nothing more to load.
function replays.find_upstream(self)
  self.upstream = {}
  for i = 1, self.ninputs do
    self.upstream[i] = self.router:signals(self, i, function () end)
  end
end

--- A class of such elements.
function replays.define(class)
  for name, method in pairs(Replays) do class[name] = class[name] or method end
  local arguments = {}
  for _, spec in ipairs(class.arguments or {}) do arguments[#arguments + 1] = spec end
  for _, spec in ipairs(COMMON) do arguments[#arguments + 1] = spec end
  class.ports, class.flow, class.arguments = "1-/=", "#/#", arguments
  class.handlers = handlers(class.handlers)
  return element.define(class)
end

return replays
