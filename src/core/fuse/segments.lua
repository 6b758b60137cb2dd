-- SPDX-License-Identifier: Apache-2.0
-- A region's apps as segments: linear runs, each of which becomes one function; and how
-- many of these LuaJIT may record in one trace.

local tables = require("core.lib.tables")

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local segments = {}

-- Number of ways that lead to each app: packets that are sent from the midst of
-- process(), or come round a loop, need a function that begins there, and so do
-- entries.
local BEGINS = 2

local function count_ways_in(region)
  local ways = {}
  for _, name in ipairs(region.apps) do ways[name] = 0 end
  for _, name in ipairs(region.apps) do
    for _, out in ipairs(region.outputs[name]) do
      if out.kind == "app" then
        local begins = out.closing or region.app_of[name].emits
        ways[out.to] = ways[out.to] + (begins and BEGINS or 1)
      end
    end
  end
  for _, way in ipairs(region.ways) do ways[way.to] = ways[way.to] + BEGINS end
  return ways
end

--- The segments of `region` (core.fuse.source), none of more than `most` apps: a list
--- of {apps = names, id = place in the list}; and a table from each segment's first app
--- to it. Apps without process() are in none.
function segments.of(region, most)
  local ways, list, starting, placed = count_ways_in(region), {}, {}, {}
  for _, name in ipairs(region.apps) do
    if not placed[name] and region.app_of[name].process then
      local segment = {id = #list + 1, apps = {}}
      list[segment.id], starting[name] = segment, segment
      local at = name
      repeat
        placed[at] = true
        table.insert(segment.apps, at)
        local outs = region.outputs[at]
        local following = #outs == 1 and outs[1].kind == "app" and outs[1].to
        at = following and ways[following] == 1 and not placed[following]
          and #segment.apps < most and following
      until not at
    end
  end
  return list, starting
end

--- Numbers of the exits that packets can reach from the app `first`, a sorted list.
function segments.exits_from(region, first)
  local seen, exits, todo = {}, {}, {first}
  while #todo > 0 do
    local name = table.remove(todo)
    if not seen[name] then
      seen[name] = true
      for _, out in ipairs(region.outputs[name]) do
        if out.kind == "exit" then exits[out.exit] = true end
        if out.kind == "app" then todo[#todo + 1] = out.to end
      end
    end
  end
  return tables.sorted_keys(exits)
end

-- How long a trace may be -----------------------------------------------------------
-- A packet's way through a region is made of tail calls, and LuaJIT counts them as
-- rounds of a loop that it unrolls (loopunroll). Where paths are long, or links close a
-- loop, it needs many. Elsewhere so many do harm: before a region's loop is compiled,
-- what leaves a trace of one of its apps is recorded through round after round of that
-- loop: for milliseconds packets wait.

local USUAL, MOST = 15, 60 -- LuaJIT's own, and that of core.main
local SHORT = 10 -- segments: one is passed by a tail call, and so are exits

local present = MOST

-- Each packet passes a segment once, unless links close a loop.
local function has_long_ways(region)
  return #region.segment > SHORT or #region.description.backs > 0
end

--- What LuaJIT may record from now on, with these regions.
function segments.unroll(regions)
  local wanted = USUAL
  for _, region in ipairs(regions) do
    if has_long_ways(region) then wanted = MOST end
  end
  if wanted ~= present then
    jit.opt.start("loopunroll=" .. wanted)
    present = wanted
  end
end

return segments
