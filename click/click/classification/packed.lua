-- SPDX-License-Identifier: Apache-2.0
-- A decision program packed: steps that ask for one of several values of the same bits
-- ("port 80 or 90 or 92") become one question with a list of values.

local bit = require("bit")

local step = require("click.classification.step")

local packed = {}

local SORTED = 7 -- values from which on they are sorted

-- How many jumps lead to each step, from steps that are reached.
local function jumps_in(steps)
  local count = {[0] = 1}
  for i = 1, steps.n - 1 do count[i] = 0 end
  for i = 0, steps.n - 1 do
    for way = 0, 1 do
      local to = steps[i][way]
      if to > 0 and count[i] > 0 then count[to] = count[to] + 1 end
    end
  end
  return count
end

local function by_bytes(a, b)
  return bit.bswap(a) % 2 ^ 32 < bit.bswap(b) % 2 ^ 32
end

-- The question that step i and those behind its no ask together.
local function question(steps, i, count)
  local s = steps[i]
  local q = {
    offset = s.offset, mask = s.mask, short = s.short, [0] = s[0], [1] = s[1],
    values = {s.value},
  }
  while q[0] > 0 and count[q[0]] == 1 do
    local other = steps[q[0]]
    if other[1] ~= s[1] or other.offset ~= s.offset or other.mask ~= s.mask then
      break
    end
    count[q[0]] = 0
    q[0] = other[0]
    q.values[#q.values + 1] = other.value
  end
  if #q.values >= SORTED then table.sort(q.values, by_bytes) end
  return q
end

--- The questions of a program, an array from 0 with the number of them as `n`; jumps
--- are between questions.
function packed.questions(program)
  local steps = program.steps
  local count = jumps_in(steps)
  local questions, number = {n = 0}, {}
  for i = 0, steps.n - 1 do
    if count[i] > 0 then
      number[i] = questions.n
      questions[questions.n] = question(steps, i, count)
      questions.n = questions.n + 1
    end
  end
  for i = 0, questions.n - 1 do
    local q = questions[i]
    for way = 0, 1 do
      if q[way] > 0 then q[way] = number[q[way]] end
    end
  end
  return questions
end

-- The number of each question's first value, if all values of all were steps.
local function first_steps(questions)
  local first, n = {}, 0
  for i = 0, questions.n - 1 do
    first[i] = n
    n = n + #questions[i].values
  end
  return first
end

--- The packed program as text: a step for each value.
function packed.text(program, questions)
  if questions.n == 0 then return program:text() end
  local first = first_steps(questions)
  local function jump(to) return to > 0 and first[to] or to end
  local lines = {}
  for i = 0, questions.n - 1 do
    local q = questions[i]
    for j, value in ipairs(q.values) do
      local number = first[i] + j - 1
      lines[#lines + 1] = step.text(number, {
        offset = q.offset, value = value, mask = q.mask, short = q.short,
        [0] = j < #q.values and number + 1 or jump(q[0]), [1] = jump(q[1]),
      })
    end
  end
  lines[#lines + 1] = "safe length " .. program.safe_length
  lines[#lines + 1] = "alignment offset 0"
  return table.concat(lines, "\n") .. "\n"
end

return packed
