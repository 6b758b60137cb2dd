-- SPDX-License-Identifier: Apache-2.0
-- Multiple Loss Ratio search (draft-ietf-bmwg-mlrsearch): for each goal the loads
-- between which its limit is, to a stated width. Trials count for all goals. Pure: it
-- knows neither clocks nor ports.

local classify = require("program.loadtest.mlrsearch.classify")

local search = {}

-- Before its own trials a goal is searched with shorter and fewer ones, to wider
-- bounds: they tell where its own are worth their time.
local COARSE, COARSE_WIDTHS = 0.1, 4
local STEPS_GROW = 2 -- outwards from a bound

local Search = {}
Search.__index = Search

-- The bounds of a goal among what was measured: the lowest load that is an upper bound,
-- the highest lower bound below it, and the loads that are undecided.
local function bounds(self, goal)
  local upper, lower, open = nil, nil, {}
  for _, load in ipairs(self.loads) do -- from the lowest
    local kind = self.unmeasured[load] and "upper"
      or classify.load(self.trials[load], goal)
    if kind == "upper" then
      upper = load
      break
    elseif kind == "lower" then lower = load
    else open[load] = true end
  end
  return lower, upper, open
end

local function is_narrow(lower, upper, width)
  return (upper - lower) <= width * upper * (1 + 1e-9)
end

-- The middle by ratio: the bounds' width is relative.
local function middle(low, high)
  return math.sqrt(low * high)
end

-- A load above `low` or below `high`, further each time: `step` widths.
local function outwards(self, low, high, width, step)
  if low then return math.min(self.max, low * (1 + width * step)) end
  return math.max(self.min, high * (1 - math.min(0.5, width * step)))
end

-- The load to try next for the goal; nil once its bounds are near enough, or the ends
-- of the range are reached. `hints`: bounds that coarser trials gave.
local function next_load(self, goal, hints, step)
  local lower, upper, open = bounds(self, goal)
  if self.current and open[self.current] then return self.current end
  local function within(load)
    return load and (not lower or load > lower) and (not upper or load < upper)
  end
  if lower and upper and is_narrow(lower, upper, goal.width) then return nil end
  if lower == self.max or upper == self.min then return nil end
  if within(hints.lower) then return hints.lower end
  if within(hints.upper) then return hints.upper end
  if lower and upper then return middle(lower, upper) end
  if lower then return outwards(self, lower, nil, goal.width, step) end
  if upper then return outwards(self, nil, upper, goal.width, step) end
  return self.max
end

local function note(self, load, trial)
  if not self.trials[load] then
    self.trials[load] = {}
    self.loads[#self.loads + 1] = load
    table.sort(self.loads)
  end
  if trial then table.insert(self.trials[load], trial) end
end

local function refine(self, goal, hints)
  local step, last = 1, nil
  while true do
    local load = next_load(self, goal, hints, step)
    if not load then return end
    if load ~= self.current then
      local lower, upper = bounds(self, goal)
      -- As long as one bound is missing, go out faster each time.
      step = last and not (lower and upper) and step * STEPS_GROW or 1
      last = load
      self.current = load
    end
    local trial, why = self.measure(load, goal.duration)
    note(self, load, trial)
    if not trial then self.unmeasured[load] = why end
  end
end

-- The same goal with short trials and wide bounds.
local function coarse(goal)
  return {loss_ratio = goal.loss_ratio, exceed_ratio = goal.exceed_ratio,
          duration = goal.duration * COARSE, duration_sum = goal.duration * COARSE,
          width = goal.width * COARSE_WIDTHS}
end

--- A search over loads from `options.min` to `options.max`. measure(load, seconds)
--- makes a trial and returns {duration, loss_ratio}; nil and why if it can't be made:
--- then nothing is known from that load on.
function search.new(options, measure)
  return setmetatable({min = options.min, max = options.max, measure = measure,
                       loads = {}, trials = {}, unmeasured = {}}, Search)
end

--- Measure until the bounds of the goal are as near as its `width` asks.
function Search:find(goal)
  local rough = coarse(goal)
  refine(self, rough, {})
  local lower, upper = bounds(self, rough)
  refine(self, goal, {lower = lower, upper = upper})
end

--- What is known of the goal: {lower, upper = its relevant bounds, nil where there is
--- none, conditional_throughput = at the lower one, width = between them, relative, nil
--- without both, reason = why the upper bound couldn't be measured here}.
function Search:result(goal)
  local lower, upper = bounds(self, goal)
  return {
    lower = lower, upper = upper,
    conditional_throughput = lower
      and classify.conditional_throughput(lower, self.trials[lower], goal),
    width = lower and upper and (upper - lower) / upper,
    reason = upper and self.unmeasured[upper],
  }
end

return search
