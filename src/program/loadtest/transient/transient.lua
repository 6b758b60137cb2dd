-- SPDX-License-Identifier: Apache-2.0
-- `perigee loadtest transient`: one rate after another, and what comes back at each.

local cli = require("lib.cli")
local engine = require("core.app")
local failure = require("core.failure")
local files = require("core.lib.files")
local loadtest = require("program.loadtest.options")
local plot = require("program.loadtest.plot")
local plot_file = require("lib.picture.plot_file")
local report = require("program.loadtest.report")
local streams = require("program.loadtest.streams")
local tester = require("program.loadtest.tester")

local M = {}

local MOST_WARM_UP_RATE = 5e9
local STEPS = 10
local WAIT_S = 0.1 -- for packets under way

local function up(bitrate, step)
  local rates = {}
  for i = 1, math.ceil(bitrate / step) do rates[i] = math.min(bitrate, step * i) end
  return rates
end

local function down(bitrate, step)
  local rates, rising = {}, up(bitrate, step)
  for i = #rising, 1, -1 do rates[#rates + 1] = rising[i] end
  return rates
end

-- The workloads: the rates one after another, from the highest and the step.
local workloads = {
  ramp_up = up,
  ramp_down = down,
  ramp_up_down = function (bitrate, step)
    local rates = up(bitrate, step)
    for _, rate in ipairs(down(bitrate, step)) do rates[#rates + 1] = rate end
    return rates
  end,
  constant = function (bitrate) return {bitrate} end,
}

--- The rates of a workload, by name.
function M.rates(name, bitrate, step)
  return workloads[name](bitrate, step)
end

local function parser()
  local p = cli.parser("loadtest transient", "Send at one rate after another, and "
    .. "print what comes back at each. Rates are in bits a second on the wire (10e9, "
    .. "500M).")
  p:usage("Usage: perigee loadtest transient [OPTIONS] FILE PORT\n"
    .. "       perigee loadtest transient [OPTIONS] (FILE TX-NAME RX-NAME PORT)...")
  p:argument("streams", "FILE: a capture file, sent repeatedly; PORT: a PCI address or "
    .. "other port. The stream TX-NAME should come back at the port of RX-NAME. -: "
    .. "send nothing there.")
    :args("*")
  p:option("-b --bitrate", "The highest rate (default 10e9)."):argname("RATE")
    :convert(cli.rate)
  p:option("-s --step", "From one rate to the next (default: a tenth of the highest).")
    :argname("RATE"):convert(cli.rate)
  p:option("-D --duration", "Time at each rate (default 5)."):argname("TIME")
    :convert(cli.duration)
  p:option("-p --program", "The workload: ramp_up, ramp_down, ramp_up_down (default), "
    .. "or constant, which goes on until it is stopped."):argname("NAME")
    :choices{"ramp_up", "ramp_down", "ramp_up_down", "constant"}
  p:option("--warm-up", "Send for this time before the first rate (default 2).")
    :argname("TIME")
    :convert(cli.duration)
  p:option("--bench-file", "Write lines of CSV to FILE."):argname("FILE")
    :convert(cli.result_file)
  p:flag("-y --hydra", "Write them in the form that Hydra's reports expect.")
  p:option("--json", "Write the results to FILE."):argname("FILE")
    :convert(cli.result_file)
  loadtest.cpu(p)
  plot_file.option(p, "rates and losses over time")
  return p
end

-- A function that writes a result to the bench file, if there is one.
local function bench_file(options)
  if not options.bench_file then return function () end end
  local file, problem = io.open(options.bench_file, "w")
  if not file then failure.usage("can't write %s", problem) end
  local function write(text) files.append(file, options.bench_file, text) end
  write(options.hydra and report.HYDRA_HEADER or report.CSV_HEADER)
  return function (result)
    write(options.hydra and report.hydra(result) or report.csv(result))
  end
end

-- Was the rate kept, and nothing lost?
local function clean(result)
  for _, s in ipairs(result.streams) do
    if not s.kept or s.lost > 0 then return false, "packets were lost" end
  end
  return true
end

-- Go through the rates; `constant` for ever, to a signal.
local function measure(t, options, note)
  local results = {}
  repeat
    for _, rate in ipairs(M.rates(options.program or "ramp_up_down", options.bitrate,
      options.step)) do
      print(("Applying %f Gbps of load."):format(rate / 1e9))
      local result = t:valid_trial(rate, options.duration, WAIT_S, clean,
        function (void) io.write(report.text(void), report.void(void)) end)
      io.write(report.text(result))
      if result.void then print(("  %s."):format(result.reason)) end
      note(result)
      if options.program ~= "constant" then results[#results + 1] = result end
    end
  until options.program ~= "constant"
  return results
end

local function warm_up(t, options)
  local seconds = options.warm_up or 2
  local rate = math.min(options.bitrate, MOST_WARM_UP_RATE)
  print(("Warming up at %f Gb/s for %g seconds."):format(rate / 1e9, seconds))
  t:warm_up(rate, seconds, WAIT_S)
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  options.bitrate, options.duration = options.bitrate or 10e9, options.duration or 5
  options.step = options.step or options.bitrate / STEPS
  local list = streams.parse(options.streams, true)
  loadtest.begin(options)
  local t = tester.new(list)
  local note = bench_file(options)
  local results = tester.together(function ()
    warm_up(t, options)
    return measure(t, options, note)
  end)
  if options.json then files.save(options.json, report.json(results)) end
  plot_file.write(options.plot, "loadtest transient",
    plot.course(results, options.duration))
  engine.report{showlinks = true}
end

return M
