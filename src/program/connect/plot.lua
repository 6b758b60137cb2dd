-- SPDX-License-Identifier: Apache-2.0
-- A run of connect as figures (lib.picture.plot_file): connections and answers over
-- time, and latencies by percentile.

local C = require("core.native")
local timer = require("core.timer")

local plot = {}

local SECOND = 1e9 -- nanoseconds
local MOST_SAMPLES = 86400
local NAMES = {"started", "open", "answers", "retransmits"}
local TAIL = {{"median", 50}, {"p90", 90}, {"p99", 99}, {"p999", 99.9}}

--- Sample the sides (program.connect.graph) once a second from now on. Returns a
--- function that ends it and gives what it has: a list for each side of {time =
--- seconds, started =, open =, answers =, retransmits =}.
function plot.sample(sides)
  local began, all = C.pg_now(), {}
  local function take()
    for i, side in ipairs(sides) do
      local counts, sample = side.app:figures().counts, {time = C.pg_now() - began}
      for _, name in ipairs(NAMES) do sample[name] = tonumber(counts[name]) end
      all[i] = all[i] or {}
      if #all[i] < MOST_SAMPLES then table.insert(all[i], sample) end
    end
  end
  take()
  local each = timer.new("connect's plot", take, SECOND, "repeating")
  timer.activate(each)
  return function ()
    timer.cancel(each)
    take()
    return all
  end
end

-- A second, of what is counted.
local function rate(samples, name)
  local points = {}
  for i = 2, #samples do
    local a, b = samples[i - 1], samples[i]
    if b.time > a.time then
      local n = (b[name] - a[name]) / (b.time - a.time)
      points[#points + 1] = {b.time, math.max(0, n)}
    end
  end
  return points
end

local function level(samples, name)
  local points = {}
  for i, s in ipairs(samples) do points[i] = {s.time, s[name]} end
  return points
end

local function tail(summary)
  local points = {}
  for i, of in ipairs(summary and TAIL or {}) do
    points[i] = {-math.log10(1 - of[2] / 100), summary[of[1]] / 1e3}
  end
  return points
end

--- Figures of the samples and of program.connect.report's results.
function plot.figures(samples, results)
  local rates, open, latencies = {}, {}, {}
  for i, side in ipairs(results.sides) do
    local own = samples[i] or {}
    local function add(list, what, points)
      list[#list + 1] = {name = ("%s: %s"):format(side.name, what), points = points}
    end
    add(rates, "started", rate(own, "started"))
    add(rates, "answers", rate(own, "answers"))
    add(rates, "sent again", rate(own, "retransmits"))
    add(open, "open", level(own, "open"))
    add(latencies, "connect", tail(side.connect))
    add(latencies, "first byte", tail(side.first_byte))
  end
  return {
    {title = "Connections, answers and segments sent again", series = rates,
      x = "seconds", y = "a second"},
    {title = "Open connections", series = open, x = "seconds", y = "connections"},
    {title = "Latency", series = latencies, y = "microseconds",
      x = "nines: 1 is 90 %, 2 is 99 %, 3 is 99.9 %",
      caption = "So many of a hundred took no longer."},
  }
end

return plot
