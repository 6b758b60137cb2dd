-- SPDX-License-Identifier: Apache-2.0
-- `perigee loadtest rfc2544`: the four tests of RFC 2544, section 26, that need no more
-- than a generator: throughput, latency, frame loss rate, back-to-back frames.

local bursts = require("program.loadtest.rfc2544.bursts")
local delay = require("program.loadtest.rfc2544.delay")
local files = require("core.lib.files")
local hdr_log = require("lib.traffic.hdr_log")
local loss = require("program.loadtest.rfc2544.loss")
local main = require("core.main")
local loadtest = require("program.loadtest.options")
local options_of = require("program.loadtest.rfc2544.options").parse
local page = require("program.loadtest.rfc2544.page")
local rate = require("lib.traffic.rate")
local report = require("program.loadtest.report")
local results = require("core.engine.results")
local si = require("core.engine.report").si
local tester = require("program.loadtest.tester")
local text = require("program.loadtest.rfc2544.text")
local throughput = require("program.loadtest.throughput")

local M = {}

local function with_throughput(result, options, say)
  local found, problem = throughput.find(options.list, result.size, options, say)
  if problem then error(problem, 0) end
  -- One that couldn't be measured isn't 0: `reason` says why it is missing.
  if not found.limit then
    result.throughput = found
    return say(text.throughput(found))
  end
  found.pps = found.limit / rate.wire_bits(result.size)
  found.share = found.limit / options.max
  result.throughput = found
  say(text.throughput(found))
end

-- `entries` are those of the log of histograms.
local function with_latency(result, options, say, entries)
  local limit = result.throughput.limit
  if not limit or limit == 0 then
    return say("Latency: not measured, since no rate passes.\n")
  end
  result.latency = delay.test(options.list, result.size, limit, options,
    function (trial, number)
      say(text.latency_trial(trial, number))
      entries[#entries + 1] = {histogram = trial.histogram, start = trial.start,
        seconds = trial.seconds, tag = ("%d-%s"):format(result.frame, trial.name)}
    end)
  say(text.latency(result.latency))
end

-- The tests of one size; `result` has what is known when one of them doesn't end.
local function measure(result, options, say, entries)
  local size = result.size
  say(("Frames of %d bytes, with the frame check %d; the line carries %s.\n"):format(
    size, size + 4, si(result.line_pps, "pps")))
  if options.tests.throughput then with_throughput(result, options, say) end
  if options.tests.latency then with_latency(result, options, say, entries) end
  if options.tests.loss or options.tests.bursts then
    local t = tester.new(options.list, size)
    t:warm_up(options.max / 100, options.warm_up, options.wait)
    if options.tests.loss then
      result.loss = loss.test(t, options, function (trial) say(text.loss(trial)) end)
    end
    if options.tests.bursts then
      result.back_to_back = bursts.test(t, size, options,
        function (trial, number) say(text.burst_trial(trial, number)) end)
      say(text.bursts(result.back_to_back))
    end
  end
end

-- What --results prints; sizes are named where there are several.
local function add_results(result, options)
  local tail = #options.sizes > 1 and "-" .. result.frame or ""
  local function add(name, value) results.add(name .. tail, value) end
  add("LIMIT", result.throughput and result.throughput.limit)
  add("LATENCY", result.latency and result.latency.mean and result.latency.mean / 1e9)
  add("LOSS", result.loss and result.loss[1].tx > 0 and result.loss[1].loss or nil)
  add("BURST", result.back_to_back and result.back_to_back.frames)
end

-- All that is written, without what JSON can't have.
local function summary(options)
  local ports = {}
  for i, stream in ipairs(options.list) do
    ports[i] = {tx = stream.tx, rx = stream.rx, port = stream.port}
  end
  return {
    report = "rfc2544", version = main.release, time = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    streams = ports, bitrate = options.max, precision = options.precision,
    duration = options.duration, wait = options.wait, pause = options.pause,
    latency_duration = options.latency_duration,
    latency_trials = options.latency_trials, burst_duration = options.burst_duration,
    bursts = options.bursts, step = options.step, quick = options.quick or false,
    results = {},
  }
end

-- Write what there is to the files. The first problem, if there is one; the others are
-- written all the same.
local function keep(options, found, entries)
  local first
  local function write(path, text_of, ...)
    if not path or path == "-" then return end
    local ok, problem = pcall(files.exchange, path, text_of(...))
    if not ok then first = first or problem end
  end
  write(options.page, page.text, found)
  write(options.histogram, hdr_log.text, entries, main.release)
  write(options.json, report.json, found)
  return first
end

-- All sizes, one after the other. Returns the first problem with the files, if there is
-- one; raises a failure if it was interrupted.
local function measure_all(options, found, entries, say)
  local problem
  for i, size in ipairs(options.sizes) do
    local result = {size = size, frame = size + 4,
                    line_pps = options.max / rate.wire_bits(size)}
    found.results[i] = result
    measure(result, options, say, entries)
    add_results(result, options)
    -- Hours of work: what there is is kept from the first size on.
    problem = keep(options, found, entries)
    if problem and i < #options.sizes then
      say(("%s; the tests go on.\n"):format(problem))
    end
  end
  return problem
end

-- What is known of a run that was stopped: of its last size there may be nothing.
local function cut_short(found, why)
  local list = found.results
  local last = list[#list]
  if not (last.throughput or last.loss or last.back_to_back) then list[#list] = nil end
  found.stopped = tostring(why)
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = options_of(args)
  local say = loadtest.begin(options)
  local found, entries = summary(options), {}
  local whole, problem = pcall(tester.together, measure_all, options, found, entries,
    say)
  if not whole then
    cut_short(found, problem)
    if #found.results > 0 then keep(options, found, entries) end
  end
  if #found.results > 0 then
    say(text.summary(found))
    if options.json == "-" then files.save("-", report.json(found)) end
  end
  if problem then error(problem, 0) end
end

return M
