-- SPDX-License-Identifier: Apache-2.0
-- Lets each jump of a decision program lead past the steps whose answers are known
-- there, from the answers taken on every path to it.
--
-- There may be very many paths, so at most four *histories* are kept for each step. A
-- history is a list of answers, each 2 * step + 1 for yes or 2 * step for no; every way
-- to the step has all answers of one of its histories at least. Equal tests have
-- one number in them, that of the first. The last answer in a history is the step's own
-- and changes with the way out that is looked at.

local step = require("click.classification.step")

local dominators = {}

local NEVER = step.NEVER
local MOST_HISTORIES = 4
local UNBOUNDED = 2 ^ 31 - 1

local function answer_of(state, way) return 2 * state + way end
local function state_of(answer) return (answer - answer % 2) / 2 end

-- The bytes that a packet has for certain at each step.
local function known_lengths(steps)
  local known = {[0] = 0}
  for i = 1, steps.n - 1 do known[i] = UNBOUNDED end
  for i = 0, steps.n - 1 do
    local s = steps[i]
    local short = s.short and 1 or 0
    local tested = math.max(step.needs(s), known[i])
    local long_to, short_to = s[1 - short], s[short]
    if long_to > 0 then known[long_to] = math.min(known[long_to], tested) end
    if short_to > 0 then known[short_to] = math.min(known[short_to], known[i]) end
  end
  return known
end

-- For each step the first with the same test.
local function first_equals(steps)
  local first, seen = {}, {}
  for i = 0, steps.n - 1 do
    local s = steps[i]
    local key = ("%d %s %d %d"):format(s.offset, s.short, s.value, s.mask)
    seen[key] = seen[key] or i
    first[i] = seen[key]
  end
  return first
end

-- For each step the jumps that lead to it, the last first.
local function ways_in(steps)
  local ways = {}
  for i = 0, steps.n - 1 do ways[i] = {} end
  for i = steps.n - 1, 0, -1 do
    for way = 1, 0, -1 do
      local to = steps[i][way]
      if to > 0 then table.insert(ways[to], answer_of(i, way)) end
    end
  end
  return ways
end

local function lead(self, state, way, to)
  local s = self.steps[state]
  local jump = answer_of(state, way)
  if s[way] > 0 then
    local list = self.ways[s[way]]
    for i, other in ipairs(list) do
      if other == jump then table.remove(list, i) break end
    end
  end
  if to > 0 then
    local list, at = self.ways[to], 1
    while list[at] and list[at] < jump do at = at + 1 end
    table.insert(list, at, jump)
  end
  s[way] = to
end

-- What is in all lists, as far as they ascend.
local function common(lists)
  local at, all = {}, {}
  for i = 1, #lists do at[i] = 1 end
  local wanted, i, agree = -1, 1, 0
  while true do
    local list = lists[i]
    while list[at[i]] and list[at[i]] < wanted do at[i] = at[i] + 1 end
    local found = list[at[i]]
    if not found then return all end
    if found > wanted then wanted, agree = found, 0 end
    agree = agree + 1
    i = i % #lists + 1
    if agree == #lists then
      all[#all + 1] = wanted
      wanted, i, agree = wanted + 1, 1, 0
    end
  end
end

-- Does the history say that the last answer in it was the other one?
local function contradicts(history)
  local last = history[#history]
  local other = last % 2 == 1 and last - 1 or last + 1
  for i = 1, #history - 1 do
    if history[i] == other then return true end
  end
  return false
end

local function copy(list, n)
  local new = {}
  for i = 1, n do new[i] = list[i] end
  return new
end

-- The histories of what jumps to the step, with the answers that made it do so.
local function histories_before(self, state)
  local found, done = {}, {}
  for _, jump in ipairs(self.ways[state]) do
    local from = state_of(jump)
    local s = self.steps[from]
    for _, history in ipairs(done[from] and {} or self.histories[from]) do
      if s[0] == s[1] then
        found[#found + 1] = copy(history, #history - 1)
      else
        history[#history] = answer_of(self.first[from], jump % 2)
        if not contradicts(history) then found[#found + 1] = history end
      end
    end
    done[from] = true
  end
  return found
end

-- The history behind the step, and the answer in it to the step's own test, if there is
-- one. An answer that is given again by the last one is left out.
local function extend(history, own)
  local new, answered = {}, nil
  local last = history[#history]
  for i, answer in ipairs(history) do
    if i == #history or state_of(answer) ~= state_of(last) then
      if state_of(answer) == own then answered = answer end
      new[#new + 1] = answer
    end
  end
  return new, answered
end

-- The histories extended by the step, and the answer that all of them give to its test.
local function extend_all(self, state, before)
  local own = self.first[state]
  local all, agreed, agree = {}, answer_of(own, 0), true
  for i, history in ipairs(before) do
    local new, answered = extend(history, own)
    agree = agree and answered and (i == 1 or answered == agreed)
    if agree then agreed = answered end
    new[#new + 1] = agreed
    all[i] = new
  end
  return all, agree and agreed
end

local function set_histories(self, state)
  local before = histories_before(self, state)
  if state == 0 then
    self.histories[0] = {{0}}
    return
  end
  if #before > MOST_HISTORIES then
    local all = common(before)
    all[#all + 1] = answer_of(self.first[state], 0)
    self.histories[state] = {all}
    return
  end
  local all, answered = extend_all(self, state, before)
  if answered and #before > 0 then
    local to = self.steps[state][answered % 2]
    for _, jump in ipairs(copy(self.ways[state], #self.ways[state])) do
      lead(self, state_of(jump), jump % 2, to)
    end
    all = {}
  end
  self.histories[state] = all
  if #all == 0 then
    lead(self, state, 0, NEVER)
    lead(self, state, 1, NEVER)
  end
end

-- The answer to the step `to` that follows from the history, or nil.
local function implied_by(self, history, to)
  local target = self.steps[to]
  for i = #history, 1, -1 do
    local from = state_of(history[i])
    local answer = step.implied(self.steps[from], history[i] % 2, target,
      self.known[from])
    if answer then return answer end
  end
  return nil
end

-- The steps to which a jump to `to` can be led on, given the history; in order.
local function led_on(self, history, to)
  local list = {to}
  while to > 0 do
    local answer = implied_by(self, history, to)
    if not answer then break end
    to = self.steps[to][answer]
    list[#list + 1] = to
  end
  return list
end

-- The furthest step that all lists of steps have.
local function last_common(lists)
  local last = lists[1][#lists[1]]
  if #lists == 1 then return last end
  local same = last <= 0
  for _, list in ipairs(lists) do same = same and list[#list] == last end
  if same then return last end
  local all = common(lists)
  return all[#all]
end

local function shorten_jump(self, state, way)
  local to = self.steps[state][way]
  if to <= 0 or #self.histories[state] == 0 then return end
  local lists = {}
  for i, history in ipairs(self.histories[state]) do
    history[#history] = answer_of(self.first[state], way)
    lists[i] = led_on(self, history, to)
  end
  local further = last_common(lists)
  if further ~= to then lead(self, state, way, further) end
end

--- Lead the jumps of the steps on as far as possible. Steps to which nothing leads any
--- more stay, and lead to NEVER.
function dominators.shorten(steps)
  local self = {
    steps = steps, known = known_lengths(steps), first = first_equals(steps),
    ways = ways_in(steps), histories = {},
  }
  for state = 0, steps.n - 1 do
    set_histories(self, state)
    shorten_jump(self, state, 1)
    shorten_jump(self, state, 0)
  end
end

return dominators
