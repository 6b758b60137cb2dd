-- SPDX-License-Identifier: Apache-2.0
-- CPUSwitch and ExactCPUSwitch, which send a packet to the output of its thread. In a
-- router over several threads what one thread sends to a switch goes around it, to the
-- element behind the output of that thread.

jit.off(true, true) -- what runs once isn't worth it

local cpu_switches = {}

local IS_EXACT = {CPUSwitch = false, ExactCPUSwitch = true}

local function index_of(list, value)
  for i, each in ipairs(list) do
    if each == value then return i end
  end
end

--- Is the class one of the two?
function cpu_switches.is(class) return IS_EXACT[class] ~= nil end

--- The output, from 0, of packets of `thread` at a switch of that class with `n`
--- outputs; `passing` are the threads whose packets pass it, a sorted list. Nil: an
--- exact switch doesn't know the thread.
function cpu_switches.output(class, n, passing, thread)
  if not IS_EXACT[class] then return thread % n end
  local i = index_of(passing, thread)
  return i and (i - 1) % n
end

local function count_outputs(flat)
  local n = {}
  for _, c in ipairs(flat.connections) do
    n[c.from] = math.max(n[c.from] or 0, c.output + 1)
  end
  return n
end

-- The connection behind an output of an element.
local function leaving(flat, from, output)
  for _, c in ipairs(flat.connections) do
    if c.from == from and c.output == output then return c end
  end
end

--- The flat configuration with what leads around switches. `threads` are the elements'
--- threads, `passing` those whose packets pass them, lists: both by name.
function cpu_switches.bypass(flat, threads, passing)
  local result, n = {}, count_outputs(flat)
  for field, value in pairs(flat) do result[field] = value end
  result.connections = {}
  local function around(c, thread)
    local e = flat.elements[c.to]
    local from_elsewhere = IS_EXACT[e.class] ~= nil and thread ~= threads[e.name]
    local output = from_elsewhere
      and cpu_switches.output(e.class, n[c.to] or 1, passing[e.name], thread)
    local behind = output and leaving(flat, c.to, output)
    return behind and around(behind, thread) or c
  end
  for i, c in ipairs(flat.connections) do
    local from = passing[flat.elements[c.from].name] or {}
    local to = #from == 1 and around(c, from[1]) or c
    result.connections[i] = to == c and c or {from = c.from, output = c.output,
      to = to.to, input = to.input, landmark = c.landmark}
  end
  return result
end

return cpu_switches
