-- SPDX-License-Identifier: Apache-2.0
-- `perigee model check PROGRAM ARGS`: measures a graph, predicts its throughput with
-- known work in it and on other machines, and sees whether the work makes it so.

local cjson = require("cjson")
local cli = require("lib.cli")
local stdlib = require("posix.stdlib")
local task_replay = require("program.model.task_replay")
local children = require("program.model.laboratory.children")
local compose = require("program.model.compose")
local failure = require("core.failure")
local files = require("core.lib.files")
local fit = require("program.model.laboratory.fit")
local predict = require("program.model.predict")
local report = require("core.engine.report")
local results = require("core.engine.results")

local M = {}

local SHARES = {0.5, 1, 2} -- work put in, in shares of what a packet takes without
local LEAST_LOAD = 100
local GHZ, LINES = {2, 3, 4}, {10e9, 25e9, 100e9}

-- The message of `perigee model WORDS PROGRAM ARGS`.
local function child(options, ...)
  local result
  local words = {"model", ...}
  words[#words + 1] = options.program
  for _, word in ipairs(options.args) do words[#words + 1] = word end
  local problem = children.run(words, function (message) result = message end)
  if problem then failure.raise("%s: %s", options.program, problem) end
  return result
end

local function watch(load, options)
  return child(options, "watch", ("%.0f"):format(load), tostring(options.duration))
end

-- The graph's tasks, with packets of its ports that were kept in `folder`; medians.
local function tasks_apart(options, folder)
  local ports = child(options, "record", folder).ports
  for _, port in ipairs(ports) do
    if port.kept == 0 then task_replay.none(folder, port.name) end
  end
  local tasks, all = nil, {task = {}, engine = {}}
  for i = 1, options.rounds do
    tasks = child(options, "tasks", folder, tostring(options.duration))
    if not tasks.task then failure.raise("there were too few samples; try a longer "
      .. "--duration") end
    for key, list in pairs(all) do list[i] = tasks[key] end
  end
  for key, list in pairs(all) do tasks[key] = fit.median(list) end
  return ports, tasks
end

-- What the table says of a graph whose tasks were measured apart; or nil, and why not.
local function compose_apart(options)
  local result, problem = predict.read(options.model)
  if not result then return nil, problem end
  local folder = assert(stdlib.mkdtemp((os.getenv("TMPDIR") or "/tmp") .. "/pgXXXXXX"))
  local ok, ports, tasks = pcall(tasks_apart, options, folder)
  os.execute("rm -rf " .. children.quoted(folder))
  if not ok then return nil, tostring(ports) end
  return compose.predict(result, ports, tasks)
end

local function show_composed(say, p, problem, base)
  if not p then return say("not predicted from the table of ports: " .. problem) end
  say(("predicted from the table of ports, and the tasks apart from them: %.1f "
    .. "cycles = %s"):format(p.cycles, report.si(base.tsc_hz / p.cycles, "pps")))
  say(("  C_IO %.1f (receive %.1f, send %.1f), C_task %.1f, engine %.1f"):format(
    p.receive + p.send, p.receive, p.send, p.task, p.engine))
  say(("measured: %.1f cycles = %s, error %+.1f %%"):format(base.cycles,
    report.si(base.tsc_hz / base.cycles, "pps"), 100 * (base.cycles / p.cycles - 1)))
end

-- The median run by its cycles.
local function median_run(runs)
  local cycles = {}
  for i, run in ipairs(runs) do cycles[i] = run.cycles end
  local middle = fit.median(cycles)
  table.sort(runs, function (a, b)
    return math.abs(a.cycles - middle) < math.abs(b.cycles - middle)
  end)
  runs[1].cycles = middle
  return runs[1]
end

-- The median run for each of `loads`. They take turns, in an order that begins
-- elsewhere each time: what changes slowly on this machine meets all of them.
local function run_in_turn(loads, options)
  local all, medians = {}, {}
  for i = 1, #loads do all[i] = {} end
  for r = 1, options.rounds do
    for k = 1, #loads do
      local i = (k + r) % #loads + 1
      all[i][r] = watch(loads[i], options)
    end
  end
  for i, runs in ipairs(all) do medians[i] = median_run(runs) end
  return medians
end

local function show_graph(say, base)
  local core = base.core_per_tsc
  say(("a packet takes %.1f TSC cycles of CPU time (%.1f of the core's, at %.2f GHz)")
    :format(base.cycles, base.cycles * core, core * base.tsc_hz / 1e9))
  if base.receive then
    say(("  C_IO %.1f (receive %.1f, send %.1f), C_task %.1f, engine %.1f, "
      .. "empty polls %.1f; %.0f packets a breath"):format(base.receive + base.send,
      base.receive, base.send, base.task, base.engine, base.empty, base.batch))
  end
end

local function show_predictions(say, base, size)
  local cycles = (base.cycles - (base.empty or 0)) * base.core_per_tsc
  say(("predicted for frames of %d bytes:"):format(size))
  for _, ghz in ipairs(GHZ) do
    local parts = {}
    for i, line in ipairs(LINES) do
      local p = fit.predict{io = cycles, task = 0, hz = ghz * 1e9, line = line,
                            size = size}
      parts[i] = ("%g Gbit/s: %s (%s)"):format(line / 1e9, report.si(p.rate, "pps"),
        p.limit)
    end
    say(("  core at %g GHz   %s"):format(ghz, table.concat(parts, "   ")))
  end
end

-- What of a run, and of a prediction from the table, is written as JSON.
local function graph_of(base)
  return {cycles = base.cycles, receive = base.receive, send = base.send,
          task = base.task, engine = base.engine, empty = base.empty,
          batch = base.batch, core_per_tsc = base.core_per_tsc, tsc_hz = base.tsc_hz}
end

local function composed_of(p)
  return {cycles = p.cycles, receive = p.receive, send = p.send, task = p.task,
          engine = p.engine}
end

--- Run and print; the median error of the predictions (0.01 is 1 percent).
--- `options`: program, args, duration and rounds of each run, size (bytes with CRC),
--- json = where to write it as JSON, or nil.
function M.run(options)
  local composed, problem = compose_apart(options)
  local cycles, loads = watch(0, options).cycles, {0}
  for i, share in ipairs(SHARES) do
    loads[i + 1] = math.max(LEAST_LOAD, cycles) * share
  end
  local runs = run_in_turn(loads, options)
  local base, errors, checks = runs[1], {}, {}
  local out = cli.text_stream(options.json)
  local function say(text) out:write(text, "\n") end
  show_graph(say, base)
  show_composed(say, composed, problem, base)
  show_predictions(say, base, options.size)
  say("work put behind each port, and throughput (packets a second of CPU time):")
  local own = base.cycles - (base.empty or 0)
  for i = 2, #runs do
    local load, run = loads[i], runs[i]
    local predicted = math.max(base.cycles, own + load * base.tax)
    errors[i - 1] = math.abs(predicted / run.cycles - 1)
    checks[i - 1] = {work = load, predicted = predicted, measured = run.cycles}
    say(("  %6.0f cycles: predicted %s, measured %s, error %+.1f %%"):format(load,
      report.si(base.tsc_hz / predicted, "pps"), report.si(run.tsc_hz / run.cycles,
      "pps"), 100 * (run.cycles / predicted - 1)))
  end
  local median = fit.median(errors)
  say(("median error: %.1f %%"):format(100 * median))
  results.add("CYCLES", base.cycles)
  results.add("ERROR", median)
  if options.json then
    files.save(options.json, cjson.encode{
      report = "model check", program = options.program, measured = graph_of(base),
      predicted = composed and composed_of(composed), why = problem, checks = checks,
      error = median} .. "\n")
  end
  return median
end

return M
