-- SPDX-License-Identifier: Apache-2.0
-- The plot of `perigee spread`: the busiest CPU's load over packets.

local files = require("core.lib.files")
local picture = require("lib.picture.plot")

local plot = {}

local POINTS = 100 -- of a line, about

local function line(name, values, every)
  local points, step = {}, math.ceil(#values / POINTS)
  for i = 1, #values, step do points[#points + 1] = {i * every, values[i]} end
  return {name = name, points = points}
end

--- The plot as SVG. Its series: two for each result of program.spread.simulation.
function plot.text(results, every)
  local series = {}
  for _, r in ipairs(results) do
    series[#series + 1] = line(r.cpus .. " CPUs", r.stay.series, every)
    series[#series + 1] = line(r.cpus .. ", --balance", r.balance.series, every)
  end
  return picture.text(series, {x = "packets", y = "busiest CPU / mean"})
end

--- Write it to the file `path`. Raises a failure if that can't be.
function plot.write(path, results, every)
  files.replace(path, plot.text(results, every))
end

return plot
