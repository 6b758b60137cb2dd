-- SPDX-License-Identifier: Apache-2.0
-- `perigee loadtest find-limit`: the highest rate at which what is sent comes back, by
-- the throughput test of RFC 2544, section 26.1.

local cli = require("lib.cli")
local files = require("core.lib.files")
local loadtest = require("program.loadtest.options")
local plot = require("program.loadtest.plot")
local plot_file = require("lib.picture.plot_file")
local report = require("program.loadtest.report")
local run_results = require("core.engine.results")
local streams = require("program.loadtest.streams")
local tester = require("program.loadtest.tester")
local throughput = require("program.loadtest.throughput")

local M = {}

-- RFC 2544, sections 23 and 24.
local RFC2544 = {duration = 60, wait = 2, pause = 5}
local USUAL = {duration = 1, wait = 0.2, pause = 0}

local function parser()
  local p = cli.parser("loadtest find-limit", "Find the highest rate at which "
    .. "everything that is sent comes back. Trials have a fixed length; each halves "
    .. "the interval of rates. Rates are in bits a second on the wire (10e9, 500M).")
  loadtest.usage(p, "find-limit")
  p:argument("streams", "FILE: a capture file, sent repeatedly; PORT: a PCI address or "
    .. "other port. The stream TX-NAME should come back at the port of RX-NAME. -: "
    .. "send nothing there.")
    :args("*")
  p:option("-b --bitrate", "The highest rate to try (default 10e9)."):argname("RATE")
    :convert(cli.rate)
  p:option("-D --duration", "Length of a trial (default 1)."):argname("TIME")
    :convert(cli.duration)
  p:option("-p --precision", "Precision of the result (default 1e6)."):argname("RATE")
    :convert(cli.rate)
  p:option("-r --retry-count", "Try a rate that fails N more times (default 3).")
    :argname("N"):convert(cli.integer(0, 1000))
  p:option("--loss", "Percentage of the packets that may be lost (default 0).")
    :argname("PERCENT"):convert(loadtest.percent)
  loadtest.of_search(p)
  p:flag("--rfc2544", "As in RFC 2544: its sizes, trials of a minute, 2 s wait, 5 s "
    .. "pause, no retries, no loss, unless other options say otherwise.")
  p:option("-e --exec", "Run this in a shell after each trial: its exit status says "
    .. "whether the trial has passed."):argname("COMMAND")
  loadtest.cpu(p)
  cli.json_option(p)
  plot_file.option(p, "what was lost by rate")
  return p
end

local function with_defaults(options)
  local usual = options.rfc2544 and RFC2544 or USUAL
  options.duration = options.duration or usual.duration
  options.wait, options.pause = options.wait or usual.wait, usual.pause
  options.retry_count = options.retry_count or (options.rfc2544 and 0 or 3)
  options.max, options.precision = options.bitrate or 10e9, options.precision or 1e6
  options.retries, options.loss = options.retry_count, options.loss or 0
  options.warm_up = options.warm_up or 1
  if options.rfc2544 then options.sizes = options.sizes or streams.RFC2544_SIZES end
  loadtest.takes_time("duration", options.duration)
  return options
end

-- All sizes, one after the other, into `all`; the failure that ended one early, if any.
local function measure(list, options, say, all)
  for i, size in ipairs(options.sizes or {false}) do
    if size then say(("Frames of %d bytes.\n"):format(size)) end
    local found, problem = throughput.find(list, size or nil, options, say)
    all[i] = found
    if problem then return problem end
    local tail = size and #options.sizes > 1 and "-" .. size or ""
    run_results.add("LIMIT" .. tail, found.limit)
  end
end

local function whole(options, all)
  return {bitrate = options.max, precision = options.precision, loss = options.loss,
          duration = options.duration, retries = options.retries, results = all,
          burst = options.burst or tester.BURST}
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = with_defaults(cli.parse(parser(), args))
  local list = streams.parse(options.streams, options.sizes == nil)
  local say = loadtest.begin(options)
  local all = {}
  local problem = tester.together(measure, list, options, say, all)
  if options.json then files.save(options.json, report.json(whole(options, all))) end
  plot_file.write(options.plot, "loadtest find-limit", plot.search(all))
  if problem then error(problem, 0) end
end

return M
