-- SPDX-License-Identifier: Apache-2.0
-- Runs a graph for a moment in the main thread, to measure what its apps take, before
-- core.cpus.placement cuts it.

local C = require("core.native")
local placement = require("core.cpus.placement")
local cycles = require("core.watch.cycles")
local tables = require("core.lib.tables")

local measure = {}

local MOST = 1 / 4 -- of a run that is short

--- Run, by run(options), for a moment; the options for the time that remains, or nil
--- if that was all.
function measure.run(options, run)
  local over = false
  local first = {measure_latency = options.measure_latency,
    no_timers = options.no_timers,
    duration = math.min(placement.SECONDS, MOST * (options.duration or math.huge))}
  first.done = options.done and function ()
    over = options.done()
    return over
  end
  run(first)
  if over or C.pg_signal() ~= 0 then return nil end
  local rest = tables.copy(options)
  rest.duration = options.duration and options.duration - first.duration
  return rest
end

local function share_out(result, names, spent)
  for _, name in ipairs(names) do
    result[name] = (result[name] or 0) + spent / #names
  end
end

--- TSC cycles a packet by app, {[NAME] = number}: `totals` as cycles.totals() gives
--- them. A fused region's are shared out evenly among its apps, and what is spent on
--- ports among the `ports`, a list of names. nil if nothing was measured.
function measure.share_out(totals, regions, ports)
  if totals.packets == 0 or totals.samples == 0 then return nil end
  local result, apps_of = {}, {}
  for _, region in ipairs(regions) do
    local apps = region.description.apps
    local label = #apps == 1 and apps[1] or ("%s+%d"):format(apps[1], #apps - 1)
    apps_of[label] = apps
  end
  for label, spent in pairs(totals.tasks) do
    share_out(result, apps_of[label] or {label}, spent / totals.packets)
  end
  share_out(result, ports, (totals.receive + totals.send) / totals.packets)
  return result
end

--- The measured cycles a packet of the running `apps`, by name; {} if there was nothing
--- to measure. `regions` are those that apps are fused into.
function measure.weights(apps, regions)
  local ports = {}
  for name, app in pairs(apps) do
    if app.port and app.direct then ports[#ports + 1] = name end
  end
  return measure.share_out(cycles.totals(), regions, ports) or {}
end

return measure
