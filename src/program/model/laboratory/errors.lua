-- SPDX-License-Identifier: Apache-2.0
-- How far the model is off: throughput with tasks that the fit hasn't seen, against
-- what it says of them, and how sure that is. Pure.

local fit = require("program.model.laboratory.fit")

local errors = {}

local RESAMPLES, CONFIDENCE = 200, 0.95

-- The median of a task's cycles over rounds.
local function measured(checks, i)
  local all = {}
  for r, points in ipairs(checks) do all[r] = points[i][2] end
  return fit.median(all)
end

--- What `solved` (fit.solve) says of tasks, and what was measured: `checks` is a list
--- of rounds, each a list of {task, cycles}. A list of {task, cycles, predicted,
--- error}, the error relative, with its sign.
function errors.rows(solved, checks)
  local rows = {}
  for i, point in ipairs(checks[1]) do
    local cycles, predicted = measured(checks, i), fit.cycles(solved, point[1])
    rows[i] = {task = point[1], cycles = cycles, predicted = predicted,
               error = cycles / predicted - 1}
  end
  return rows
end

local function picked(list, order)
  local result = {}
  for i, k in ipairs(order) do result[i] = list[k] end
  return result
end

-- The sizes of the errors over all cells; `order`: of which rounds, by cell.
local function sizes(cells, order)
  local all = {}
  for k, cell in ipairs(cells) do
    local fitted, checks = cell.fitted, cell.checks
    if order then
      fitted, checks = picked(fitted, order[k]), picked(checks, order[k])
    end
    for _, row in ipairs(errors.rows(fit.point(fitted), checks)) do
      all[#all + 1] = math.abs(row.error)
    end
  end
  return all
end

--- The median relative error over `cells`, a list of {fitted, checks: rounds measured
--- together}; its 95 % confidence interval, low and high (bootstrap over rounds, with a
--- fixed seed); and the largest. Nil if there are no cells.
function errors.of(cells)
  local all = sizes(cells)
  if #all == 0 then return nil end
  local random, medians = fit.random(), {}
  for i = 1, RESAMPLES do
    local order = {}
    for k, cell in ipairs(cells) do
      order[k] = {}
      for r = 1, #cell.fitted do order[k][r] = random(#cell.fitted) end
    end
    medians[i] = fit.median(sizes(cells, order))
  end
  local low, high = fit.middle(medians, CONFIDENCE)
  -- Of sizes, medians over samples are on the large side: there is no error below 0.
  local median = fit.median(all)
  return median, math.min(low, median), math.max(high, median), math.max(unpack(all))
end

return errors
