-- SPDX-License-Identifier: Apache-2.0
-- How many tail calls a trace may have. A packet's way through a region is made of
-- them, and LuaJIT counts them as rounds of a loop that it unrolls (loopunroll). Where
-- paths are long, or links close a loop, it needs many. Elsewhere so many do harm:
-- before a region's loop is compiled, what leaves a trace of one of its apps is
-- recorded through round after round of that loop: for milliseconds packets wait.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local unrolling = {}

local USUAL, MOST = 15, 60 -- LuaJIT's own, and that of core.main
local SHORT = 10 -- segments: one is passed by a tail call, and so are exits

local present = MOST

-- Each packet passes a segment once, unless links close a loop.
local function has_long_ways(region)
  return #region.segment > SHORT or #region.description.backs > 0
end

--- What LuaJIT may record from now on, with these regions.
function unrolling.set(regions)
  local wanted = USUAL
  for _, region in ipairs(regions) do
    if has_long_ways(region) then wanted = MOST end
  end
  if wanted ~= present then
    jit.opt.start("loopunroll=" .. wanted)
    present = wanted
  end
end

return unrolling
