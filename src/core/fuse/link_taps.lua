-- SPDX-License-Identifier: Apache-2.0
-- Links that no fused region takes over, watched from outside: before the app that they
-- lead to is called, the packets that have come since are shown to the taps. Nothing is
-- in the way of packets while nobody watches: the calls of a breath are wrapped.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local link = require("core.link")

local link_taps = {}

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
  if l.nhanded == 0 then return end -- past the ring (core.fuse.zero_copy_link)
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

--- Wrap the push calls of a breath (core.engine.order) so that the taps (core.taps) see
--- what apps outside of regions are given. `fused` says what regions take over.
function link_taps.wrap(pushes, links, fused, taps)
  local regions = {}
  for _, run in pairs(fused.run) do regions[run] = true end
  for i = 1, pushes.n do
    local push, app, l = pushes.push[i], pushes.app[i], pushes.link[i]
    if not regions[push] then
      pushes.push[i] = wrapped(push, links_of(push, app, l, links, fused), taps)
    end
  end
end

return link_taps
