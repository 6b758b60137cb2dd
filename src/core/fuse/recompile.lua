-- SPDX-License-Identifier: Apache-2.0
-- Is a region better rebuilt? When traffic has moved to other branches: LuaJIT
-- shapes a region's loop for the way that most packets went when it was compiled;
-- those that take another pay some 10 cycles more. When the packet for which it was
-- compiled was a rare one. When packets have begun to take many paths (spread), or an
-- app's state has outgrown the caches (look_ahead), or the other way round. And when
-- LuaJIT has blacklisted the loop, or taken it for a recursion (twice at most). Each
-- time it waits twice as long before the next.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local badly_compiled = require("core.fuse.badly_compiled")
local look_ahead = require("core.fuse.look_ahead")
local packet_paths = require("core.fuse.packet_paths")

local drift = {}

local PERIODS = 3 -- looks in a row that must agree
local FEWEST_PACKETS = 1000 -- in a look, at one app, for it to count
local MORE = 1.5 -- so many times as many as take the output it was made for
local FIRST_WAIT_SECONDS = 0.05

local FIRST = {seconds = FIRST_WAIT_SECONDS / 2, before = 0, tries = 0}
local TRIES = 2 -- to have a loop compiled

-- By the name of a region's first app: {seconds =, before =, tries =}.
local waits = {}

-- How many packets took each output of app `k` since the last look; the one that most
-- took, and how many all were. Nil if they don't count.
local function outputs_taken(tally, k, seen)
  local outs, counts = tally.outs[k], tally.counts
  local rest = tally.into[k].packets
  for event = tally.first[k], tally.last[k] do rest = rest - counts[event].packets end
  local took, best, sum = {}, #outs, 0
  for i = #outs, 1, -1 do
    local n = i > 1 and counts[outs[i].event].packets or rest
    if i > 1 then rest = rest - n end
    took[i] = tonumber(n - (seen[i] or 0))
    seen[i], sum = n, sum + took[i]
    if took[i] > took[best] then best = i end
  end
  if sum < FEWEST_PACKETS then return nil end
  return took, best, sum
end

-- Does one of its apps look ahead now that didn't, or the other way round?
local function outgrown(region)
  local d = region.description
  for i = 1, #d.apps do
    local name = d.apps[i]
    local app = d.app_of[name]
    if app.ahead and look_ahead.wanted(name, app) ~= d.ahead[name] then return true end
  end
  return false
end

-- Look at one region; true if it is to be made anew.
local function look(region)
  local tally, state = region.tally, region.drift
  if not state then
    state = {seen = {}, shaped_for = {}, strikes = 0}
    region.drift = state
  end
  local moved, packets, apart = false, 0, 0
  for k = 1, tally.napps do
    local took, best, sum
    if #tally.outs[k] > 1 then
      state.seen[k] = state.seen[k] or {}
      took, best, sum = outputs_taken(tally, k, state.seen[k])
    end
    if took then
      local former = state.shaped_for[k] or best
      state.shaped_for[k] = former
      moved = moved or took[best] > MORE * took[former]
      if not tally.emits[k] then
        packets, apart = math.max(packets, sum), apart + sum - took[best]
      end
    end
  end
  state.spread = packet_paths.now(region, packets, apart)
  moved = moved or state.spread ~= region.description.spread
  moved = packet_paths.rare(region) or outgrown(region) or moved
  state.strikes = moved and state.strikes + 1 or 0
  return state.strikes >= PERIODS
end

--- Look at the `regions` (accounted for), now and then, at the time `now`, after so
--- many breaths. True if one is to be made anew: its `stale` is set.
function drift.check(regions, now, breaths)
  local any = false
  for _, region in ipairs(regions) do
    local name = region.description.apps[1]
    local wait = waits[name] or FIRST
    local moved = look(region)
    local tried = wait.tries < TRIES
      and (badly_compiled.look(region, breaths) or badly_compiled.is_recursion(region))
    if (moved or tried) and now >= wait.before then
      local seconds = wait.seconds * 2
      waits[name] = {seconds = seconds, before = now + seconds,
                     tries = wait.tries + (tried and 1 or 0)}
      packet_paths.note(name, region.drift.spread)
      region.stale, any = true, true
    end
  end
  return any
end

return drift
