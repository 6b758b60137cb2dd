-- SPDX-License-Identifier: Apache-2.0
-- libmoon's histogram: how often each value came, usually latencies in nanoseconds.
-- Scripts read its fields, too: `histo` (counts by value) and, after `calc`,
-- `sortedHisto`, `numSamples`, `sum`, `avg`, `stdDev`, `minimum`, `maximum`, `quarts`.

local arguments = require("moongen.arguments")
local files = require("core.lib.files")
local log = require("moongen.log")
local serialize = require("moongen.tasks.serialize")
local tables = require("core.lib.tables")

local Histogram = {}
Histogram.__index = Histogram
Histogram.__type = "histogram"

local NAN = 0 / 0

--- A new, empty one; also by calling the class, and as `create`.
function Histogram.new() return setmetatable({histo = {}, dirty = true}, Histogram) end
Histogram.create = Histogram.new

--- Count a value; nil is none.
function Histogram:update(value)
  value = tonumber(value)
  if not value or value ~= value then return end
  self.histo[value] = (self.histo[value] or 0) + 1
  self.dirty = true
end

--- Count all of another histogram's values here, too.
function Histogram:merge(other)
  if type(other.histo) ~= "table" then
    error("merge takes another histogram, not a table without counts", 2)
  end
  for value, count in pairs(other.histo) do
    self.histo[value] = (self.histo[value] or 0) + count
  end
  self.dirty = true
  return self
end

-- The value at this place of all samples in order, from 0 on.
local function at(sorted, place)
  for _, entry in ipairs(sorted) do
    if place < entry.v then return entry.k end
    place = place - entry.v
  end
end

-- The value that this share of the samples is below.
local function quantile(self, share)
  if self.numSamples == 0 then return NAN end
  return at(self.sortedHisto, math.min(math.ceil(self.numSamples * share),
    self.numSamples - 1))
end

--- Work out the fields from the counts.
function Histogram:calc()
  local sorted, samples, sum = {}, 0, 0
  for value, count in pairs(self.histo) do
    sorted[#sorted + 1] = {k = value, v = count}
    samples, sum = samples + count, sum + value * count
  end
  table.sort(sorted, function (a, b) return a.k < b.k end)
  local average, squares = sum / samples, 0
  for _, entry in ipairs(sorted) do
    squares = squares + entry.v * (entry.k - average) ^ 2
  end
  self.sortedHisto, self.numSamples, self.sum, self.avg = sorted, samples, sum, average
  self.stdDev = samples == 0 and NAN or samples == 1 and 0
    or math.sqrt(squares / (samples - 1))
  if samples > 0 then self.minimum, self.maximum = sorted[1].k, sorted[#sorted].k end
  self.quarts = {quantile(self, 0.25), quantile(self, 0.5), quantile(self, 0.75)}
  self.dirty = false
end

local function current(self)
  if self.dirty then self:calc() end
  return self
end

--- Samples, their sum, their average.
function Histogram:totals()
  current(self)
  return self.numSamples, self.sum, self.avg
end

-- One figure each. Scripts call `avg` before calc makes a field of it.
for method, field in pairs{average = "avg", avg = "avg", standardDeviation = "stdDev",
                           min = "minimum", max = "maximum"} do
  Histogram[method] = function (self) return current(self)[field] end
end

--- The three quartiles; not numbers if there is no sample.
function Histogram:quartiles() return unpack(current(self).quarts, 1, 3) end

--- The second quartile.
function Histogram:median() return current(self).quarts[2] end

--- The value that `percent` (0 to 100) of the samples are below; nil if there is none.
function Histogram:percentile(percent)
  if type(percent) ~= "number" or not (percent >= 0 and percent <= 100) then
    error("a percentile is a number from 0 to 100, not " .. tostring(percent), 2)
  end
  if current(self).numSamples > 0 then return quantile(self, percent / 100) end
end

--- Iterates over {k = value, v = count}, in order of values.
function Histogram:samples()
  local sorted, i = current(self).sortedHisto, 0
  return function ()
    i = i + 1
    return sorted[i]
  end
end

--- Print the figures, under a name if one is given.
function Histogram:print(name)
  current(self)
  local prefix = name and "[" .. tostring(name) .. "] " or ""
  io.stdout:write(("%sSamples: %d, Average: %.1f ns, StdDev: %.1f ns, " ..
    "Quartiles: %.1f/%.1f/%.1f ns\n"):format(prefix,
    self.numSamples, self.avg, self.stdDev, self:quartiles()))
  io.stdout:flush()
end

--- Write a line "value,count" for each value to a file, or to one of this name. Raises
--- a failure if that can't be done.
function Histogram:save(file)
  local lines = {}
  for entry in self:samples() do
    lines[#lines + 1] = ("%s,%s\n"):format(entry.k, entry.v)
  end
  local text = table.concat(lines)
  if type(file) == "userdata" then return files.append(file, "the histogram", text) end
  log:info("Saving histogram to '%s'", file)
  files.replace(tostring(file), text, "save")
end

arguments.methods(Histogram, "a histogram", "histo", {
  update = "any?", merge = "table", calc = "", totals = "", quartiles = "", median = "",
  percentile = "any?", samples = "", print = "any?", save = "any?", average = "",
  avg = "", standardDeviation = "", min = "", max = "",
})

-- To another task it goes with all its fields, scripts' own ones too.
serialize.class("moongen.measure.histogram", "histogram", Histogram, function (h)
  return tables.copy(h)
end, function (fields) return setmetatable(fields, Histogram) end)

return setmetatable(Histogram, {__call = Histogram.new})
