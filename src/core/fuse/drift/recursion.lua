-- SPDX-License-Identifier: Apache-2.0
-- Has LuaJIT taken a region's loop for a recursion? A segment's head is hot, too, and
-- it may begin a trace there, and follow the next packets until one comes to the same
-- segment: "up-recursion". Packets then go from trace to trace, and each time LuaJIT
-- puts them into new objects, so that half the time is spent on garbage.

jit.off(true, true) -- LuaJIT calls what is here (core.watch.health)

local health = require("core.watch.health")

local recursion = {}

local Segments = {}
Segments.__index = Segments

--- To be called when LuaJIT begins to record one of them.
function Segments:started() end -- luacheck: no self

--- To be called when it has compiled it to a trace with that kind of a link.
function Segments:stopped(linktype)
  self.found = self.found or linktype == "up-recursion"
end

--- Learn how the segments of the region, just made, are compiled: region.recursion.
function recursion.follow(region)
  region.recursion = setmetatable({found = false}, Segments)
  for _, f in pairs(region.segment) do health.follow(f, region.recursion) end
end

--- Is one of its segments compiled as a recursion?
function recursion.found(region)
  local segments = region.recursion
  return segments and segments.found or false
end

return recursion
