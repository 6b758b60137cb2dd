-- SPDX-License-Identifier: Apache-2.0
-- What a pattern means, as a tree: tests joined by and, or, if-then-else and not. A
-- program's steps come from it in the order in which the tests stand in the pattern.

local step = require("click.classification.step")

local SUCCESS, FAILURE = step.SUCCESS, step.FAILURE

local tree = {}

--- Are the bits `mask` of the four bytes at `offset` equal to `value`?
function tree.test(offset, value, mask)
  return {kind = "test", offset = offset, value = value, mask = mask}
end

--- Matches every packet.
function tree.all() return tree.test(0, 0, 0) end

--- All of them match. Without a part it matches every packet.
function tree.both(parts) return {kind = "both", parts = parts} end

--- One of them matches, tried in order.
function tree.either(parts) return {kind = "either", parts = parts} end

--- Parts 1 and 2 match, or, if 1 doesn't, part 3 matches. It may go on: 3 is then
--- asked as 1 is, and so on.
function tree.choice(parts) return {kind = "choice", parts = parts} end

--- The part doesn't match. A packet too short for a test still doesn't match, or does
--- match if `short` is set.
function tree.negated(part, short) return {kind = "not", part = part, short = short} end

--- Matches what no test is needed for?
function tree.is_empty(node)
  if node.kind == "test" then return false end
  if node.kind == "not" then return tree.is_empty(node.part) end
  for _, part in ipairs(node.parts) do
    if not tree.is_empty(part) then return false end
  end
  return true
end

-- Let the jumps of steps from `first` to before `last` lead on.
local function redirect(steps, first, last, success, failure)
  for i = first, last - 1 do
    local s = steps[i]
    for way = 0, 1 do
      if s[way] == SUCCESS then
        s[way] = success
      elseif s[way] == FAILURE then
        s[way] = failure
      end
    end
  end
end

local emit = {}

local function add(node, steps) emit[node.kind](node, steps) end

function emit.test(node, steps)
  steps[steps.n] = step.new(node.offset, node.value, node.mask)
  steps.n = steps.n + 1
end

emit["not"] = function (node, steps)
  local first = steps.n
  add(node.part, steps)
  redirect(steps, first, steps.n, FAILURE, SUCCESS)
  if not node.short then return end
  for i = first, steps.n - 1 do steps[i].short = not steps[i].short end
end

-- Adds all parts; returns where each begins, and where the last ends.
local function add_parts(parts, steps)
  local starts = {}
  for i, part in ipairs(parts) do
    starts[i] = steps.n
    add(part, steps)
  end
  starts[#parts + 1] = steps.n
  return starts
end

-- The parts that have tests, or something that matches all.
local function tested(parts)
  local list = {}
  for _, part in ipairs(parts) do
    if not tree.is_empty(part) then list[#list + 1] = part end
  end
  if not list[1] then list[1] = tree.all() end
  return list
end

local function all_or_part(part) return tree.is_empty(part) and tree.all() or part end

local function tested_each(parts)
  local list = {}
  for i, part in ipairs(parts) do list[i] = all_or_part(part) end
  return list
end

function emit.both(node, steps)
  local parts = tested(node.parts)
  local starts = add_parts(parts, steps)
  for i = 1, #parts - 1 do
    redirect(steps, starts[i], starts[i + 1], starts[i + 1], FAILURE)
  end
end

function emit.either(node, steps)
  local parts = tested_each(node.parts)
  local starts = add_parts(parts, steps)
  for i = 1, #parts - 1 do
    redirect(steps, starts[i], starts[i + 1], SUCCESS, starts[i + 1])
  end
end

function emit.choice(node, steps)
  local parts = tested_each(node.parts)
  local starts = add_parts(parts, steps)
  for i = 1, #parts - 2, 2 do
    redirect(steps, starts[i], starts[i + 1], starts[i + 1], starts[i + 2])
  end
  if #parts % 2 == 0 then
    local last = #parts - 1
    redirect(steps, starts[last], starts[last + 1], starts[last + 1], FAILURE)
  end
end

--- The tree's steps, an array from 0 with the number of them as `n`. What matches jumps
--- to `success`, the rest to `failure`.
function tree.steps(node, success, failure)
  local steps = {n = 0}
  add(all_or_part(node), steps)
  redirect(steps, 0, steps.n, success, failure)
  return steps
end

return tree
