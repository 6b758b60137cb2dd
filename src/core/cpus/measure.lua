-- SPDX-License-Identifier: Apache-2.0
-- Runs a graph for a moment in the main thread, to measure what its apps take, before
-- core.cpus.placement cuts it.

local C = require("core.native")
local placement = require("core.cpus.placement")
local link = require("core.link")
local move = require("core.engine.breath")
local weights = require("core.cpus.weights")

local measure = {}

local MOST_ROUNDS = 1000

local function all_empty(links)
  for _, l in pairs(links) do
    if not link.empty(l) then return false end
  end
  return true
end

--- Let apps push what is in `links`, and pull no more, so that nothing is lost when
--- they move. `pushes` are the calls of a breath (core.engine.breath).
function measure.drain(pushes, links)
  for _ = 1, MOST_ROUNDS do
    if all_empty(links) then return end
    move.push(pushes)
  end
end

--- Run, by run(options), for a moment; the options for the time that remains, or nil
--- if that was all.
function measure.run(options, run)
  local over = false
  local first = {measure_latency = options.measure_latency,
    no_timers = options.no_timers,
    duration = math.min(placement.SECONDS, options.duration or math.huge)}
  first.done = options.done and function ()
    over = options.done()
    return over
  end
  run(first)
  if over or C.pg_signal() ~= 0 then return nil end
  local rest = {}
  for key, value in pairs(options) do rest[key] = value end
  rest.duration = options.duration and options.duration - first.duration
  return rest
end

--- The measured cycles of the running `apps`, {} if there was nothing to measure.
function measure.weights(totals, regions, apps)
  local ports = {}
  for name, app in pairs(apps) do
    if app.port and app.direct then ports[#ports + 1] = name end
  end
  return weights.of(totals, regions, ports) or {}
end

return measure
