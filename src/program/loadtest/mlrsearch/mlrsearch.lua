-- SPDX-License-Identifier: Apache-2.0
-- `perigee loadtest mlrsearch`: the rates without loss (NDR) and with little of it
-- (PDR), by Multiple Loss Ratio search.

local files = require("core.lib.files")
local loadtest = require("program.loadtest.options")
local options_of = require("program.loadtest.mlrsearch.options").parse
local plot = require("program.loadtest.plot")
local plot_file = require("lib.picture.plot_file")
local report = require("program.loadtest.report")
local run_results = require("core.engine.results")
local search = require("program.loadtest.mlrsearch.search")
local si = require("core.engine.report").si
local tester = require("program.loadtest.tester")
local trial = require("program.loadtest.mlrsearch.trial")

local M = {}

-- What makes the trials of one size, and keeps them in `trials`.
local function measurer(t, options, trials, say)
  local judge = trial.judge(options.worst)
  return function (rate, seconds)
    local function note(result)
      trials[#trials + 1] = result
      result.loss_ratio = trial.loss_ratio(result)
    end
    local result = t:valid_trial(rate, seconds, options.wait, judge, note)
    note(result)
    say(("%s for %g s: %s.\n"):format(si(rate, "bit/s"), seconds, result.void
      and result.reason or ("%.4g %% lost, bursts of up to %d"):format(
        100 * result.loss_ratio, result.burst)))
    if result.void then return nil, result.reason end
    return {duration = seconds, loss_ratio = result.loss_ratio}
  end
end

--- What is said of a goal's result.
function M.sentence(goal, r)
  local text
  if not r.lower then
    text = r.reason and "unknown" or r.upper
      and ("below %s"):format(si(r.upper, "bit/s")) or "nothing is known yet"
  elseif not r.upper then
    text = ("%s or more"):format(si(r.lower, "bit/s"))
  else
    text = ("%s to %s (%.2g %% wide)"):format(si(r.lower, "bit/s"),
      si(r.upper, "bit/s"), 100 * r.width)
  end
  if r.lower then
    text = text .. ", conditional throughput "
      .. si(r.conditional_throughput, "bit/s")
  end
  if r.reason then
    text = text .. ("; %s: %s"):format(si(r.upper, "bit/s"), r.reason)
  end
  return ("%s: %s.\n"):format(goal.name, text)
end

local function results_of(s, options, say)
  local list = {}
  for i, goal in ipairs(options.goals) do
    local r = s:result(goal)
    r.name, r.loss_ratio = goal.name, goal.loss_ratio
    list[i] = r
    say(M.sentence(goal, r))
  end
  return list
end

-- One size: {size, goals, trials, stopped}; behind it the failure that ended it early.
local function measure(size, options, say)
  local t, trials = tester.new(options.list, size, options.burst), {}
  local s = search.new(options, measurer(t, options, trials, say))
  local whole, problem = pcall(function ()
    t:warm_up(math.min(options.max, 1e9), options.warm_up, options.wait)
    for _, goal in ipairs(options.goals) do
      say(("Searching for %s.\n"):format(goal.name))
      s:find(goal)
    end
  end)
  if not whole then say("Stopped. What is known:\n") end
  local found = {size = size, goals = results_of(s, options, say), trials = trials}
  if whole then return found end
  found.stopped = tostring(problem)
  return found, problem
end

local function add_results(found, options)
  local tail = #(options.sizes or {}) > 1 and "-" .. found.size or ""
  for _, goal in ipairs(found.goals) do
    local name = goal.name:gsub("[ %%]+", "-"):gsub("%-$", ""):upper()
    run_results.add(name .. tail, goal.lower)
  end
end

local function measure_all(options, say, all)
  for i, size in ipairs(options.sizes or {false}) do
    if size then say(("Frames of %d bytes.\n"):format(size)) end
    local found, problem = measure(size or nil, options, say)
    all[i] = found
    if problem then return problem end
    add_results(found, options)
  end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = options_of(args)
  local say = loadtest.begin(options)
  local all = {}
  local problem = tester.together(measure_all, options, say, all)
  if options.json then
    files.save(options.json, report.json{report = "mlrsearch", bitrate = options.max,
      min = options.min, duration = options.duration,
      burst = options.burst or tester.BURST,
      duration_sum = options.duration_sum, exceed_ratio = options.exceed,
      width = options.width, results = all})
  end
  plot_file.write(options.plot, "loadtest mlrsearch", plot.search(all))
  if problem then error(problem, 0) end
end

return M
