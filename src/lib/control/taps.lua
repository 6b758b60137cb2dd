-- SPDX-License-Identifier: Apache-2.0
-- What is attached to this engine from outside to see its packets. A tap is an object
-- with methods, all of which are called between an app's work and the next's:
--
--   wants(spec)               is it to see the packets of that link within a region, or
--                             from a region to a port?
--   burst(spec, packets, n)   these come to an app or a region by that link; true if
--                             the region is to report further on, too
--   seen(spec, p)             this one passes that link, where burst() isn't called
--   lost(app, reason, p)      the app (a name) drops it; it is freed then
--   kept(app, p)              the app keeps it, or sent it on; it may be another's
--   after(app, list)          the app (an object), which had packets of burst(), has
--                             been called; its links are {spec =, link =}, a list
--   losses                    does it get all drops?
--   follows                   does burst() say which ones it gets?
--
-- Taps count nothing for the engine and may not change, keep or free packets.

local graph = require("core.engine.graph")

local taps = {}

local attached = {}

local METHODS = {"burst", "seen", "lost", "kept", "after"}

-- One function that calls the method of each: LuaJIT compiles that better than a loop.
local function all(list, method, first)
  local tap = list[first]
  if first == #list then
    return function (a, b, c) return tap[method](tap, a, b, c) end
  end
  local rest = all(list, method, first + 1)
  return function (a, b, c)
    local one = tap[method](tap, a, b, c)
    return rest(a, b, c) or one
  end
end

-- All taps as one, as core.fuse.watched wants it; nil if there
-- is none.
local function together(list)
  if #list == 0 then return nil end
  local one = {losses = false, follows = true}
  for _, method in ipairs(METHODS) do one[method] = all(list, method, 1) end
  for _, tap in ipairs(list) do
    one.losses = one.losses or tap.losses or false
    one.follows = one.follows and tap.follows or false
  end
  function one.wants(spec)
    for _, tap in ipairs(list) do
      if tap:wants(spec) then return true end
    end
    return false
  end
  return one
end

--- Attach the tap, between breaths.
function taps.attach(tap)
  attached[#attached + 1] = tap
  graph.watch(together(attached))
end

--- Detach it.
function taps.detach(tap)
  for i = #attached, 1, -1 do
    if attached[i] == tap then table.remove(attached, i) end
  end
  graph.watch(together(attached))
end

return taps
