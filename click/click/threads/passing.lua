-- SPDX-License-Identifier: Apache-2.0
-- The threads whose packets pass each element: those of the elements before it that
-- make or pull packets, and of what pulls from it.

local cpu_switches = require("click.threads.cpu_switches")
local tables = require("core.lib.tables")

jit.off(true, true) -- what runs once isn't worth it

local passing = {}

-- May packets of the thread leave the element by this output?
local function leave(e, output, known, thread)
  local class = e.class.name
  return not cpu_switches.is(class)
    or cpu_switches.output(class, e.noutputs, known, thread) == output
end

-- Add to the set what `accept` lets pass of another; has it grown?
local function add(set, other, accept)
  local grown = false
  for thread in pairs(other) do
    if not set[thread] and accept(thread) then set[thread], grown = true, true end
  end
  return grown
end

local function everything() return true end

-- Sets by number of the element, if switches know the threads that `known` has.
local function sets_of(router, own, is_pull, known)
  local sets, grown = {}, true
  for i in ipairs(router.elements) do
    sets[i] = own[i] and {[own[i]] = true} or {}
  end
  while grown do
    grown = false
    for _, c in ipairs(router.connections) do
      local from, to = c.from, c.to
      if is_pull(c) then
        if not own[from] and add(sets[from], sets[to], everything) then grown = true end
      elseif not own[to] and add(sets[to], sets[from], function (thread)
        return leave(router.elements[from], c.output, known[from], thread)
      end) then
        grown = true
      end
    end
  end
  return sets
end

--- By number of an element, the sorted list of these threads. own[NUMBER] is the thread
--- of each element that makes or pulls packets; is_pull(connection): does it pull?
function passing.of(router, own, is_pull)
  local known, rounds = {}, 1
  for i, e in ipairs(router.elements) do
    known[i] = {}
    if e.class.name == "ExactCPUSwitch" then rounds = rounds + 1 end
  end
  for _ = 1, rounds do -- an exact switch's outputs follow from what comes to it
    local sets = sets_of(router, own, is_pull, known)
    for i in ipairs(router.elements) do known[i] = tables.sorted_keys(sets[i]) end
  end
  return known
end

--- The list as FastClick's handler has it: "0,2-3".
function passing.text(list)
  local parts, i = {}, 1
  while list[i] do
    local k = i
    while list[k + 1] == list[k] + 1 do k = k + 1 end
    local first, last = list[i], list[k]
    parts[#parts + 1] = k > i and ("%d-%d"):format(first, last) or tostring(first)
    i = k + 1
  end
  return table.concat(parts, ",")
end

return passing
