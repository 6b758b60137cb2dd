-- SPDX-License-Identifier: Apache-2.0
-- Values that an element has seen and how often, and the handlers that report them: as
-- FastClick's statistics elements have them (BatchStats, BurstStats, FlowCounter).

local tables = require("core.lib.tables")

local value_counts = {}

--- Nothing has been seen. An element may have a method settle(), called before its
--- values are read.
function value_counts.clear(self) self.seen = {} end

--- The value has been seen once more.
function value_counts.see(self, value)
  self.seen[value] = (self.seen[value] or 0) + 1
end

-- The values in order.
local function values(self)
  if self.settle then self:settle() end
  return tables.sorted_keys(self.seen)
end

-- How many were seen, and their sum.
local function totals(self)
  local count, sum = 0, 0
  for _, value in ipairs(values(self)) do
    count, sum = count + self.seen[value], sum + value * self.seen[value]
  end
  return count, sum
end

-- The smallest value that was seen most often; -1 without any.
local function most_seen(self)
  local best
  for _, value in ipairs(values(self)) do
    if not best or self.seen[value] > self.seen[best] then best = value end
  end
  return best or -1
end

-- The value in the middle of all that were seen.
local function median(self)
  local half, count = math.floor((totals(self)) / 2), 0
  for _, value in ipairs(values(self)) do
    count = count + self.seen[value]
    if count > half then return value end
  end
  return 0
end

local function average(self)
  local count, sum = totals(self)
  return count > 0 and ("%.12g"):format(sum / count) or "0"
end

local function dump(self)
  local lines = {}
  for i, value in ipairs(values(self)) do
    lines[i] = ("%d: %.0f\n"):format(value, self.seen[value])
  end
  return table.concat(lines)
end

--- The handlers, to be joined with others.
value_counts.handlers = {
  most_seen = {join = "all", read = most_seen},
  most_seen_freq = {join = "all", read = function (self)
    return self.seen[most_seen(self)] or 0
  end},
  max = {join = "most", read = function (self)
    local list = values(self)
    return list[#list] or -1
  end},
  count = {read = function (self) return (totals(self)) end},
  nval = {join = "all", read = function (self) return #values(self) end},
  median = {join = "all", read = median},
  average = {join = "all", read = average}, avg = {join = "all", read = average},
  dump = {read = dump},
}

return value_counts
