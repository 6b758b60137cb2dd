-- SPDX-License-Identifier: Apache-2.0
-- Figures of a list of numbers, as scripts ask `stats` for them. Those of an empty list
-- are not a number.

local M = {}

local NAN = 0 / 0

--- The sum of the list.
function M.sum(data)
  local sum = 0
  for _, value in ipairs(data) do sum = sum + value end
  return sum
end

--- The arithmetic mean.
function M.average(data) return #data > 0 and M.sum(data) / #data or NAN end

--- The standard deviation of the sample (its divisor is n - 1); 0 of one value.
function M.stdDev(data)
  if #data == 0 then return NAN end
  if #data == 1 then return 0 end
  local mean, squares = M.average(data), 0
  for _, value in ipairs(data) do squares = squares + (value - mean) ^ 2 end
  return math.sqrt(squares / (#data - 1))
end

--- The smallest value that `p` percent of the list don't exceed (nearest rank); nil of
--- an empty list.
function M.percentile(data, p)
  local sorted = {}
  for i, value in ipairs(data) do sorted[i] = value end
  table.sort(sorted)
  return sorted[math.max(1, math.ceil(#sorted * p / 100))]
end

--- The value in the middle.
function M.median(data) return M.percentile(data, 50) end

--- Note the figures of the list in it: `avg`, `stdDev`, `median`, `sum`. With `inner`
--- the first and the last value don't count, where there are others: a counter's first
--- and last intervals aren't whole.
function M.addStats(data, inner)
  local from, to = 1, #data
  if inner and #data > 2 then from, to = 2, #data - 1 end
  local counted = {}
  for i = from, to do counted[#counted + 1] = data[i] end
  data.avg = M.average(counted)
  data.stdDev = M.stdDev(counted)
  data.median = M.median(counted)
  data.sum = M.sum(counted)
end

return M
