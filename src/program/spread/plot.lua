-- SPDX-License-Identifier: Apache-2.0
-- The plot of `perigee spread`: the busiest CPU's load over packets.

local failure = require("core.failure")
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
  local file, problem = io.open(path, "w")
  local ok = file and file:write(plot.text(results, every))
  local closed, why = true, nil
  if file then closed, why = file:close() end
  if not (ok and closed) then
    failure.raise("can't write '%s': %s", path, tostring(problem or why))
  end
end

return plot
