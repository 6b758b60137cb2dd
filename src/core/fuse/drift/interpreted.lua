-- SPDX-License-Identifier: Apache-2.0
-- Does LuaJIT interpret a region's loop, though packets have gone through it for a
-- while? It gives a loop up that it couldn't compile a few times, for reasons that
-- may have passed, or have been bad luck. The bytecode at the loop's end shows it.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local util = require("jit.util")
local vmdef = require("jit.vmdef")

local interpreted = {}

local PERIODS = 3 -- looks in a row that must agree
local FEWEST_PACKETS = 2000 -- in a look
local SMALLEST_BURST = 16 -- with fewer packets a breath, other traces do its work

-- Opcodes of numeric loops, by their number: false once compiled, true before, and
-- after LuaJIT has given up.
local loops = {}
for name, state in pairs{FORL = true, IFORL = true, JFORL = false} do
  loops[(vmdef.bcnames:find(("%-6s"):format(name), 1, true) - 1) / 6] = state
end

--- Does LuaJIT interpret the first numeric loop of function `f`?
function interpreted.loop(f)
  local pc, instruction = 1, util.funcbc(f, 1)
  while instruction do
    local state = loops[bit.band(instruction, 0xff)]
    if state ~= nil then return state end
    pc = pc + 1
    instruction = util.funcbc(f, pc)
  end
  return false
end

--- Look at a region now and then, after so many breaths in all; true if one of its
--- loops is interpreted.
function interpreted.look(region, breaths)
  local state = region.interpreted
  if not state then
    state = {read = {}, compiled = {}, breaths = breaths, strikes = 0}
    region.interpreted = state
  end
  local fewest = math.max(FEWEST_PACKETS, SMALLEST_BURST * (breaths - state.breaths))
  local found = false
  for i, f in ipairs(region.loop) do
    local read = tonumber(region.entry[i].read)
    local busy = read - (state.read[i] or read) >= fewest
    if busy and not state.compiled[i] then
      state.compiled[i] = not interpreted.loop(f) -- and will remain so
      found = found or not state.compiled[i]
    end
    state.read[i] = read
  end
  state.breaths = breaths
  state.strikes = found and state.strikes + 1 or 0
  return state.strikes >= PERIODS
end

return interpreted
