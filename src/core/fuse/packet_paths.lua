-- SPDX-License-Identifier: Apache-2.0
-- The paths that packets take through a region. LuaJIT compiles a region's loop for the
-- packet at hand when it is hot; all that go another way leave the trace, and come back
-- to its beginning, which costs as much as the work itself. So a loop that was made for
-- a rare packet is better rebuilt. The region's own counters show it: what they have
-- counted while LuaJIT recorded is what that packet did. So do apps' counters of what
-- they do for few packets (app.detours). Where packets take many paths, another form is
-- better.

-- Runs seldom: compiling it would only make packets wait. And what LuaJIT calls as it
-- begins to record mustn't run any compiled code (core.watch.health): no pairs() in it,
-- which may be a script's.
jit.off(true, true)

local ffi = require("ffi")
local health = require("core.watch.health")
local tables = require("core.lib.tables")

local packet_paths = {}

local RARE = 8 -- so many times as many packets have gone another way at the same app
local FEWEST_PACKETS = 1000 -- in a look, at one app, for it to count
local NONE = {}

-- The path that a loop was compiled for ----------------------------------------------

local Shape = {}
Shape.__index = Shape

--- To be called when LuaJIT begins to record the loop.
function Shape:started()
  for event = 1, self.events do self.before[event] = self.counts[event].packets end
  for k, counter in next, self.detours do self.before_detour[k] = counter[0] end
end

--- To be called when it has compiled it to a trace with that kind of a link. (Another
--- one may begin at the function's head, and lead into the loop.)
function Shape:stopped(linktype)
  if linktype ~= "loop" then return end
  self.taken, self.seen = {}, {}
  for event = 1, self.events do
    local n = self.counts[event].packets
    if n ~= self.before[event] then self.taken[event] = n end
  end
  self.detoured = {}
  for k, counter in next, self.detours do
    if counter[0] ~= self.before_detour[k] then self.detoured[k] = counter[0] end
  end
end

--- Learn which way the loops of the region, just made, are compiled for: region.shapes.
function packet_paths.follow(region)
  local events = #region.description.events
  local detours = tables.field(region.app, "detours") -- counters, by the apps' numbers
  region.shapes = {}
  for i, f in ipairs(region.loop) do
    region.shapes[i] = setmetatable({counts = region.tally.counts, events = events,
      before = ffi.new("int64_t[?]", events + 1), before_detour = {},
      detours = detours}, Shape)
    health.follow(f, region.shapes[i])
  end
end

-- The most packets that have gone one way at app `k` since the last time, of which
-- `seen` tells.
local function most_at(tally, k, seen)
  local rest, most = tally.into[k].packets, 0
  local function moved(way, n)
    most = math.max(most, tonumber(n - (seen[way] or n)))
    seen[way] = n
  end
  local function event_moved(event)
    local n = tally.counts[event].packets
    rest = rest - n
    moved(event, n)
  end
  for event = tally.first[k], tally.last[k] do event_moved(event) end
  for _, out in ipairs(tally.outs[k]) do
    if out.event then event_moved(out.event) end
  end
  moved("straight on", rest)
  return most
end

-- Was the loop that `self` follows made for packets that are rare by now?
local function is_rare(self, d, tally)
  local most, rare = {}, false
  -- At app `k` the loop took a way that `n` packets have taken since the last time.
  local function note(k, n)
    self.seen[k] = self.seen[k] or {}
    most[k] = most[k] or most_at(tally, k, self.seen[k])
    rare = rare or most[k] >= FEWEST_PACKETS and tonumber(n) * RARE < most[k]
  end
  for event, before in pairs(self.taken or NONE) do
    local n = tally.counts[event].packets
    self.taken[event] = n
    note(d.index[d.events[event].app], n - before)
  end
  for k, before in pairs(self.detoured or NONE) do
    local n = self.detours[k][0]
    self.detoured[k] = n
    note(k, n - before)
  end
  return rare
end

--- Was one of the region's loops compiled for a packet that is rare by what has come
--- since the last call? The region's counters are up to date.
function packet_paths.rare(region)
  local rare = false
  for _, self in ipairs(region.shapes or NONE) do
    rare = is_rare(self, region.description, region.tally) or rare
  end
  return rare
end

-- Many paths -------------------------------------------------------------------------
-- Do the packets of a region take many? Then its loop is better written in another form
-- (core.fuse.source), which costs the packets of others some cycles.

-- Packets that leave the way of most, by 100; in between a region stays as it is.
local MANY, FEW = 30, 15

local known = {} -- by the name of a region's first app

--- Do they, as far as is known of the region that begins with the app `name`?
function packet_paths.known(name) return known[name] or false end

--- Do they now? Of `packets`, so many have been `apart` from the way of most.
function packet_paths.now(region, packets, apart)
  if packets == 0 then return region.description.spread end
  return apart * 100 >= packets * (region.description.spread and FEW or MANY)
end

--- So it is known from now on.
function packet_paths.note(name, is) known[name] = is end

return packet_paths
