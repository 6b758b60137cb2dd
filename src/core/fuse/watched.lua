-- SPDX-License-Identifier: Apache-2.0
-- What somebody watches from outside (lib.control.taps). A region has, next to its own
-- code, a copy of it that reports each packet that passes a link, or is dropped: both
-- count in the same counters and fill the same arrays, and a burst takes the copy if a
-- tap wants to see more than what comes in. Of a link that no region takes over the
-- packets that have come since are shown before the app that it leads to is called: the
-- calls of a breath are wrapped, so nothing is in the way while nobody watches.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local link = require("core.link")
local running_app = require("core.watch.running_app")
local source = require("core.fuse.source")

local watched = {}

-- Regions -----------------------------------------------------------------------

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

--- A copy of the region's code for the taps (lib.control.taps), a table like the
--- region.
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

-- Other links -------------------------------------------------------------------

local array_t = ffi.typeof("struct packet *[?]")
local SLOTS = tonumber(C.LINK_RING_SIZE)

-- The cursor up to which packets of the link have been seen, by link.
local seen_up_to = setmetatable({}, {__mode = "k"})

-- Show the taps those packets in the ring that have come since.
local function show_ring(spec, l, burst, room)
  local waiting = link.nreadable(l)
  local first = tonumber(l.read)
  local write = first + waiting
  first = math.max(first, seen_up_to[l] or first)
  local n = 0
  for cursor = first, write - 1 do
    room[n] = l.packets[cursor % SLOTS]
    n = n + 1
  end
  if n > 0 then burst(spec, room, n) end
  seen_up_to[l] = write
end

local function show(spec, l, burst, room)
  show_ring(spec, l, burst, room)
  if l.nhanded == 0 then return end -- past the ring (core.fuse.direct_links)
  burst(spec, l.handed, l.nhanded)
  seen_up_to[l] = seen_up_to[l] + l.nhanded
end

-- Which links a call of the breath takes packets from: those that lead to its app, but
-- one alone where the app has a function for it (push_link).
local function links_of(push, app, l, links, fused)
  local list = {}
  for _, spec in ipairs(config.sorted_keys(links)) do
    local _, _, to, input = config.parse_link(spec)
    local special = app.push_link and app.push_link[input]
    local mine = links[spec] == l or not special and push ~= special
    if to == app.appname and mine and not fused.over[spec] and not fused.run[spec] then
      list[#list + 1] = {spec = spec, link = links[spec]}
    end
  end
  return list
end

local function wrapped(push, list, taps)
  local room, burst, after = array_t(SLOTS), taps.burst, taps.after
  return function (app, l)
    for i = 1, #list do show(list[i].spec, list[i].link, burst, room) end
    push(app, l)
    after(app, list)
  end
end

--- Wrap the push calls of a breath (core.engine.order) so that the taps
--- (lib.control.taps) see what apps outside of regions are given. `fused` says what
--- regions take over.
function watched.wrap(pushes, links, fused, taps)
  local regions = {}
  for _, run in pairs(fused.run) do regions[run] = true end
  for i = 1, pushes.n do
    local push, app, l = pushes.push[i], pushes.app[i], pushes.link[i]
    if not regions[push] then
      pushes.push[i] = wrapped(push, links_of(push, app, l, links, fused), taps)
    end
  end
end

return watched
