-- SPDX-License-Identifier: Apache-2.0
-- Rates of links, a line a second, as upstream's programs write them: as a table of
-- comma separated values, or in the form of its benchmarks ("hydra").

local engine = require("core.app")
local failure = require("core.failure")
local files = require("core.lib.files")
local log = require("core.lib.log")
local timer = require("core.timer")

local rates = {}

local SECOND = 1e9 -- nanoseconds
local MOST_POINTS = 86400 -- of a plot: a day

local Rates = {}
Rates.__index = Rates

-- Packets and bytes so far, {[NAME] = {packets =, bytes =}}.
local function read(self)
  local totals, sums = engine.link_totals(), {}
  for _, column in ipairs(self.columns()) do
    local sum = sums[column.name] or {packets = 0, bytes = 0}
    sums[column.name] = sum
    for spec, link in pairs(totals) do
      if column.of(spec) then
        sum.packets = sum.packets + tonumber(link.rxpackets)
        sum.bytes = sum.bytes + tonumber(link.rxbytes)
      end
    end
  end
  return sums
end

local function heading(self)
  if self.hydra then return "benchmark,id,score,unit\n" end
  local parts = {"Time (s)"}
  for _, column in ipairs(self.columns()) do
    parts[#parts + 1] = ("%s MPPS,%s Gbps"):format(column.name, column.name)
  end
  return table.concat(parts, ",") .. "\n"
end

local function format(self, elapsed, column, mpps, gbps)
  if not self.hydra then return (",%f,%f"):format(mpps, gbps) end
  local name = column.name:lower():gsub("%W", "")
  return ("%s_mpps,%.0f,%f,mpps\n%s_gbps,%.0f,%f,gbps\n"):format(name, elapsed, mpps,
    name, elapsed, gbps)
end

local function put(self, text)
  if self.problem then return end
  local ok, why = pcall(files.append, self.file, self.path or "standard output", text)
  if ok then return end
  if not self.goes_on then error(why, 0) end
  self.problem = why
  log.error("%s; packets pass without it", tostring(why))
end

local function note(points, name, time, value)
  points[name] = points[name] or {}
  if #points[name] < MOST_POINTS then table.insert(points[name], {time, value}) end
end

--- Write a line for the time since the one before, if that is half a second or more:
--- the timer may be late, and make up for it; a run may end in the middle of a second.
function Rates:line()
  local now, sums = engine.now(), read(self)
  local seconds = now - self.time
  if seconds < 0.5 then return end
  local parts = {}
  for _, column in ipairs(self.columns()) do
    local sum = sums[column.name]
    local before = self.before[column.name] or sum
    local mpps = (sum.packets - before.packets) / seconds / 1e6
    local gbps = (sum.bytes - before.bytes) * 8 / seconds / 1e9
    parts[#parts + 1] = format(self, now - self.start, column, mpps, gbps)
    note(self.points, column.name, now - self.start, mpps * 1e6)
    note(self.bit_points, column.name, now - self.start, gbps * 1e9)
  end
  local line = table.concat(parts)
  put(self, self.hydra and line or ("%f%s\n"):format(now - self.start, line))
  self.time, self.before = now, sums
end

--- Write the last line, and no more. Raises a failure if one couldn't be written.
function Rates:finish()
  timer.cancel(self.timer)
  self:line()
  if self.problem then error(self.problem, 0) end
end

--- What the lines said, for lib.picture.plot_file.
function Rates:figures()
  local packets, bits = {}, {}
  for i, column in ipairs(self.columns()) do
    local name = column.name
    packets[i] = {name = name, points = self.points[name] or {}}
    bits[i] = {name = name, points = self.bit_points[name] or {}}
  end
  return {
    {title = "Packets a second", series = packets, x = "seconds",
      y = "packets a second"},
    {title = "Bits a second", series = bits, x = "seconds", y = "bit/s"},
  }
end

--- Write rates from now on. columns() returns a list of {name =, of = a function that
--- tells whether a link (its text) belongs to it}; `path` is where to write (nil: to
--- stdout). Returns an object whose finish() is to be called at the end. Raises a
--- failure if that can't be. With goes_on packets pass for their own sake: what can't
--- be written later is said once, and finish() raises it.
function rates.start(columns, path, hydra, goes_on)
  local file = io.stdout
  if path then
    local opened, problem = io.open(path, "w")
    if not opened then failure.raise("can't write %s", problem) end
    file = opened
  end
  local o = setmetatable({columns = columns, file = file, path = path, hydra = hydra,
    points = {}, bit_points = {}}, Rates)
  o.start = engine.now()
  o.time, o.before = o.start, read(o)
  put(o, heading(o))
  o.goes_on = goes_on
  o.timer = timer.new("rates", function () o:line() end, SECOND, "repeating")
  timer.activate(o.timer)
  return o
end

return rates
