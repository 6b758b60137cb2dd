-- SPDX-License-Identifier: Apache-2.0
-- Do the packets of a region take many paths? Then its loop is better written in
-- another form (core.fuse.source), which costs the packets of others some cycles.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local divergence = {}

-- Packets that leave the way of most, by 100; in between a region stays as it is.
local MANY, FEW = 30, 15

local known = {} -- by the name of a region's first app

--- Do they, as far as is known of the region that begins with the app `name`?
function divergence.known(name) return known[name] or false end

--- Do they now? Of `packets`, so many have been `apart` from the way of most.
function divergence.now(region, packets, apart)
  if packets == 0 then return region.description.spread end
  return apart * 100 >= packets * (region.description.spread and FEW or MANY)
end

--- So it is known from now on.
function divergence.note(name, is) known[name] = is end

return divergence
