-- SPDX-License-Identifier: Apache-2.0
-- Steps of a decision program, made fewer by looking at pairs of them.

local bit = require("bit")

local step = require("click.classification.step")

local simplify = {}

-- For each step the only one that leads to it; 0 if several do, or step 0 does; nil if
-- none does.
local function only_way_in(steps)
  local from = {}
  for i = 0, steps.n - 1 do
    for way = 0, 1 do
      local to = steps[i][way]
      if to > 0 then from[to] = from[to] and 0 or i end
    end
  end
  return from
end

local function identity(offset) return offset end

-- Should `b` be asked before `a`?
local function out_of_order(a, b, rank)
  local ra, rb = rank(a.offset), rank(b.offset)
  if ra ~= rb then return ra > rb end
  if a.mask ~= b.mask then return a.mask > b.mask end
  return a.value > b.value
end

-- Exchange the tests of step i and the one it goes on to, if that puts them in order
-- and both lead to one place otherwise.
local function sort_pair(steps, i, way, from, rank)
  local a, to = steps[i], steps[i][way]
  if to <= 0 or not from[to] or from[to] == 0 then return false end
  local b = steps[to]
  if a[1 - way] ~= b[1 - way] or not out_of_order(a, b, rank) then return false end
  local behind = b[way]
  steps[i], steps[to] = b, a
  b[way], a[way] = to, behind
  return true
end

--- Ask in the order of offsets, where it makes no difference.
function simplify.sort(steps, rank)
  local from = only_way_in(steps)
  rank = rank or identity
  local i = 0
  while i < steps.n do
    if sort_pair(steps, i, 0, from, rank) or sort_pair(steps, i, 1, from, rank) then
      i = from[i] and from[i] > 0 and from[i] or i
    else
      i = i + 1
    end
  end
end

-- One step instead of `s` and what its no leads to. Returns true if `s` should be
-- looked at again.
local function join_no(steps, s)
  local other = s[0] > 0 and steps[s[0]]
  if not other then return false end
  if step.is_bit(s.mask) and step.compatible(other, s) then
    step.flip(s)
    return false
  end
  local difference = step.differing_bit(s, other)
  if not difference then return false end
  s.value = s.value - step.band(s.value, difference)
  s.mask = s.mask - difference
  s[0] = other[0]
  return true
end

local function join_yes(steps, s)
  local other = s[1] > 0 and steps[s[1]]
  if not other then return false end
  if s[0] == other[1] and step.is_bit(other.mask) then step.flip(other) end
  if s[0] ~= other[0] or not step.compatible(other, s, true) then return false end
  s[1] = other[1]
  if s.mask == 0 then s.offset = other.offset end
  s.value = bit.bor(s.value, other.value) % 2 ^ 32
  s.mask = bit.bor(s.mask, other.mask) % 2 ^ 32
  return true
end

--- Ask at once what two steps ask of the same four bytes.
function simplify.combine(steps)
  local i = steps.n - 1
  while i >= 0 do
    if not (join_no(steps, steps[i]) or join_yes(steps, steps[i])) then i = i - 1 end
  end
end

-- Where a jump to each step leads, past those that decide nothing.
local function destinations(steps)
  local to = {}
  for i = steps.n - 1, 0, -1 do
    local s = steps[i]
    for way = 0, 1 do
      if s[way] > 0 then s[way] = to[s[way]] end
    end
    if s[0] ~= s[1] and s.mask ~= 0 then to[i] = i else to[i] = s[1] end
  end
  return to
end

--- Take out steps that decide nothing, and those that nothing leads to. Returns the
--- jump that all packets take, or nil if it depends.
function simplify.compact(steps)
  local first = steps[0]
  local to = destinations(steps)
  local start = to[0]
  local decides = first[0] ~= first[1] and first.mask ~= 0
  if not decides and start <= 0 then
    for i = 0, steps.n - 1 do steps[i] = nil end
    steps.n = 0
    return start
  end
  steps[0] = decides and first or step.moved(steps[start], 0)
  local number = {[0] = 0}
  local count = 0
  for i = 0, steps.n - 1 do
    local s = steps[i]
    if number[i] then
      number[i] = count
      steps[count] = s
      count = count + 1
      for way = 0, 1 do
        if s[way] > 0 then number[s[way]] = 0 end
      end
    end
  end
  for i = count, steps.n - 1 do steps[i] = nil end
  steps.n = count
  for i = 0, count - 1 do
    for way = 0, 1 do
      local jump = steps[i][way]
      if jump > 0 then steps[i][way] = number[jump] end
    end
  end
  return nil
end

return simplify
