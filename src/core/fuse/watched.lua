-- SPDX-License-Identifier: Apache-2.0
-- A region that somebody watches from outside (core.taps): next to its own code there
-- is a copy of it that reports each packet that passes a link, or is dropped. Both
-- count in the same counters and fill the same arrays. A burst takes the copy if a tap
-- wants to see more than what comes in.

local config = require("core.config")
local running_app = require("core.watch.running_app")
local source = require("core.fuse.source")

local watched = {}

-- The links that nobody else tells of: those within the region, and those by which
-- packets go straight to a port; of these, what the taps want.
local function tapped_links(region, taps)
  local d, set = region.description, {}
  for spec in pairs(d.inner) do set[spec] = taps.wants(spec) or nil end
  for _, spec in ipairs(d.exits) do
    local _, _, to = config.parse_link(spec)
    if region.direct[to] and taps.wants(spec) then set[spec] = true end
  end
  return set
end

-- What the copy calls for packets that it doesn't pass on.
local function losses(region, taps)
  local d, lose, drop = region.description, region.lose, region.drop
  local apps, events, lost, kept = d.apps, d.events, taps.lost, taps.kept
  local reasons = {}
  for k, name in ipairs(apps) do reasons[k] = d.app_of[name].drops or {} end
  local function lose_seen(k, reason, p, before, result)
    if result == false then
      kept(apps[k], p)
    else
      lost(apps[k], reasons[k][reason] or "dropped", p)
    end
    return lose(k, reason, p, before, result)
  end
  local function drop_seen(event, p)
    lost(events[event].app, events[event].drop, p)
    return drop(event, p)
  end
  return lose_seen, drop_seen
end

--- A copy of the region's code for the taps (core.taps), a table like the region.
function watched.copy(region, taps)
  local d = region.description
  local tapped = tapped_links(region, taps)
  local lose, drop = losses(region, taps)
  local copy = setmetatable({
    lose = lose, drop = drop, seen = taps.seen, run = {}, pass = {}, loop = {},
    wide = {}, step = {}, segment = {}, emit = {},
    always = taps.losses or next(tapped) ~= nil,
  }, {__index = region})
  if taps.follows then copy.always = false end
  local text, app_at = source.generate(d, tapped)
  copy.code = {region = region, name = region.code.name .. ", watched", apps = d.apps,
               app_at = app_at, segments = copy.segment, loops = copy.loop,
               emits = copy.emit, run = copy.pass}
  assert(loadstring(text, "=" .. copy.code.name))(copy)
  running_app.region(copy.code)
  return copy
end

--- What fetches a burst from entry `i` of the region and runs it by the watched copy,
--- if a tap wants that, or else by the region's own code; it returns how many packets.
function watched.step(region, i, taps)
  local fetch, packets = region.fetch[i], region.packets
  local plain, seen = region.pass[i], region.watched.pass[i]
  local spec, burst, always = region.description.entries[i], taps.burst,
    region.watched.always
  return function ()
    local n = fetch(packets)
    if n > 0 and burst(spec, packets, n) or always then
      seen(n)
    else
      plain(n)
    end
    return n
  end
end

return watched
