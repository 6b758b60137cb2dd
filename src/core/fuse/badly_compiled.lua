-- SPDX-License-Identifier: Apache-2.0
-- Has LuaJIT compiled a region's loop badly? It may interpret it, though packets have
-- gone through it for a while: it gives a loop up that it couldn't compile a few times,
-- for reasons that may have passed, or have been bad luck. The bytecode at the loop's
-- end shows it. Or it has taken the loop for a recursion: a segment's head is hot, too,
-- and it may begin a trace there, and follow the next packets until one comes to the
-- same segment: "up-recursion". Packets then go from trace to trace, and each time
-- LuaJIT puts them into new objects, so that half the time is spent on garbage.

-- Runs seldom: compiling it would only make packets wait. And LuaJIT calls what follows
-- segments (core.watch.health).
jit.off(true, true)

local health = require("core.watch.health")
local util = require("jit.util")
local vmdef = require("jit.vmdef")

local badly_compiled = {}

-- Interpreted -------------------------------------------------------------------

local PERIODS = 3 -- looks in a row that must agree
local FEWEST_PACKETS = 2000 -- in a look
local SMALLEST_BURST = 16 -- with fewer packets a breath, other traces do its work

-- Opcodes of numeric loops, by their number: before they are compiled, after LuaJIT has
-- given up, once they are.
local COLD, GIVEN_UP, COMPILED = "cold", "given up", "compiled"
local loops = {}
for name, state in pairs{FORL = COLD, IFORL = GIVEN_UP, JFORL = COMPILED} do
  loops[(vmdef.bcnames:find(("%-6s"):format(name), 1, true) - 1) / 6] = state
end

local function is_within(f, pc, first, last)
  local line = util.funcinfo(f, pc).currentline
  return line >= first and line <= last
end

-- The state of the first numeric loop of the function `f`, or of its lines from `first`
-- to `last`; nil if there is none.
local function state_of(f, first, last)
  local pc, instruction = 1, util.funcbc(f, 1)
  while instruction do
    local state = loops[bit.band(instruction, 0xff)]
    if state and (not first or is_within(f, pc, first, last)) then return state end
    pc = pc + 1
    instruction = util.funcbc(f, pc)
  end
end

--- Does LuaJIT interpret the first numeric loop of the function `f`, or of these lines?
function badly_compiled.is_interpreted(f, first, last)
  local state = state_of(f, first, last)
  return state == COLD or state == GIVEN_UP
end

-- The loop of entry `i` in a row of breaths, and what may follow a full burst.
local function is_interpreted(region, i)
  local row, f = region.in_row[i], region.loop[i]
  if not row then return badly_compiled.is_interpreted(f) end
  return badly_compiled.is_interpreted(row.f, row.first, row.last)
    or state_of(f) == GIVEN_UP
end

--- Look at a region now and then, after so many breaths in all; true if one of its
--- loops is interpreted.
function badly_compiled.look(region, breaths)
  local state = region.interpreted
  if not state then
    state = {read = {}, compiled = {}, breaths = breaths, strikes = 0}
    region.interpreted = state
  end
  local fewest = math.max(FEWEST_PACKETS, SMALLEST_BURST * (breaths - state.breaths))
  local found = false
  for i in ipairs(region.loop) do
    local read = tonumber(region.entry[i].read)
    local busy = read - (state.read[i] or read) >= fewest
    if busy and not state.compiled[i] then
      state.compiled[i] = not is_interpreted(region, i) -- and will remain so
      found = found or not state.compiled[i]
    end
    state.read[i] = read
  end
  state.breaths = breaths
  state.strikes = found and state.strikes + 1 or 0
  return state.strikes >= PERIODS
end

-- Taken for a recursion ---------------------------------------------------------

local Segments = {}
Segments.__index = Segments

--- To be called when LuaJIT begins to record one of them.
function Segments:started() end -- luacheck: no self

--- To be called when it has compiled it to a trace with that kind of a link.
function Segments:stopped(linktype)
  self.found = self.found or linktype == "up-recursion"
end

--- Learn how the segments of the region, just made, are compiled: region.recursion.
function badly_compiled.follow(region)
  region.recursion = setmetatable({found = false}, Segments)
  for _, f in pairs(region.segment) do health.follow(f, region.recursion) end
end

--- Is one of its segments compiled as a recursion?
function badly_compiled.is_recursion(region)
  local segments = region.recursion
  return segments and segments.found or false
end

return badly_compiled
