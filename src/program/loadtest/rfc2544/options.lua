-- SPDX-License-Identifier: Apache-2.0
-- The options of `perigee loadtest rfc2544`: by default what the RFC asks for.

local cli = require("lib.cli")
local failure = require("core.failure")
local loadtest = require("program.loadtest.options")
local streams = require("program.loadtest.streams")

local options = {}

local TESTS = {"throughput", "latency", "loss", "bursts"}

-- RFC 2544, sections 23, 24 and 26.
local AS_WRITTEN = {duration = 60, wait = 2, pause = 5, latency_duration = 120,
                    latency_trials = 20, burst_duration = 2, bursts = 50}
local QUICK = {duration = 1, wait = 0.2, pause = 0, latency_duration = 1,
               latency_trials = 1, burst_duration = 0.2, bursts = 3}

-- Converter: "throughput,loss" to a set.
local function tests(text)
  local set = {}
  for word in (text .. ","):gmatch("([^,]*),") do
    local known = false
    for _, name in ipairs(TESTS) do known = known or name == word end
    if not known then
      return nil, ("'%s' is none of %s"):format(word, table.concat(TESTS, ", "))
    end
    set[word] = true
  end
  return set
end

local LEAST_STEP, MOST_STEP = 0.01, 10 -- percent

local function step(text)
  local value, problem = cli.positive_number((text:gsub("%%$", "")))
  if value and value > MOST_STEP then
    return nil, ("'%s' is more than 10, the RFC's largest step in percent"):format(text)
  elseif value and value < LEAST_STEP then
    return nil, ("'%s' is less than 0.01, which makes 10,000 rates"):format(text)
  end
  return value and value / 100, problem
end

local function parser()
  local p = cli.parser("loadtest rfc2544", "The tests of RFC 2544, for frames of each "
    .. "size: throughput, latency, frame loss rate, back-to-back frames. As the RFC "
    .. "has them they take hours; see --quick. Rates are in bits a second on the wire "
    .. "(10e9, 500M).")
  p:usage("Usage: perigee loadtest rfc2544 [OPTIONS] PORT\n"
    .. "       perigee loadtest rfc2544 [OPTIONS] (TX-NAME RX-NAME PORT)...")
  p:argument("streams", "PORT: a PCI address or other port. The stream TX-NAME should "
    .. "come back at the port of RX-NAME. -: send nothing there."):args("*")
  p:option("-b --bitrate", "The line's rate, the highest there is (default 10e9).")
    :argname("RATE"):convert(cli.rate)
  p:option("-p --precision", "Precision of the throughput (default: a hundredth of the "
    .. "line's rate)."):argname("RATE"):convert(cli.rate)
  p:option("--sizes", "Sizes of frames in bytes, without the frame check (default "
    .. "rfc2544: the RFC's for Ethernet)."):argname("SIZES"):convert(streams.sizes)
  p:option("--tests", "Only these: " .. table.concat(TESTS, ",") .. ". Latency is "
    .. "measured at the throughput, and so wants it."):argname("TESTS"):convert(tests)
  p:flag("--quick", "Trials of a second, one for latency, three searches with bursts "
    .. "of 0.2 s, no pauses; other options still count.")
  p:option("-D --duration", "Length of a trial (default 60)."):argname("TIME")
    :convert(cli.duration)
  p:option("--latency-duration", "Length of a trial for latency (default 120).")
    :argname("TIME"):convert(cli.duration)
  p:option("--latency-trials", "Trials for latency (default 20)."):argname("N")
    :convert(cli.integer(1, 1000))
  p:option("--burst-duration", "The longest burst (default 2)."):argname("TIME")
    :convert(cli.duration)
  p:option("--bursts", "Searches for the longest burst (default 50)."):argname("N")
    :convert(cli.integer(1, 1000))
  p:option("--step", "From one rate of the frame loss test to the next, in percent of "
    .. "the line's rate (default 10, which is the largest)."):argname("PERCENT")
    :convert(step)
  p:option("--wait", "Wait for packets on their way after a trial (default 2).")
    :argname("TIME"):convert(cli.duration)
  p:option("--pause", "Between two trials (default 5)."):argname("TIME")
    :convert(cli.duration)
  p:option("--warm-up", "Send for this time before the first trial of a size (default "
    .. "1)."):argname("TIME"):convert(cli.duration)
  loadtest.cpu(p)
  cli.json_option(p)
  p:option("--histogram", "Write the latencies of each trial to FILE, as a log of "
    .. "HdrHistogram."):argname("FILE"):convert(cli.result_file)
  p:option("--page", "Write a report with plots, one HTML page, to FILE.")
    :argname("FILE"):convert(cli.result_file)
  return p
end

--- The options that `args` mean, with defaults, and `list` (program.loadtest.streams).
function options.parse(args)
  local o = cli.parse(parser(), args)
  local usual = o.quick and QUICK or AS_WRITTEN
  for key, value in pairs(usual) do o[key] = o[key] or value end
  for _, key in ipairs{"duration", "latency_duration", "burst_duration"} do
    loadtest.takes_time(key:gsub("_", "-"), o[key])
  end
  o.max = o.bitrate or 10e9
  o.precision, o.step = o.precision or o.max / 100, o.step or 0.1
  o.retries, o.loss, o.warm_up = 0, 0, o.warm_up or 1
  o.sizes = o.sizes or streams.RFC2544_SIZES
  o.tests = o.tests or tests(table.concat(TESTS, ","))
  if o.tests.latency and not o.tests.throughput then
    failure.usage("--tests: latency is measured at the throughput: add throughput")
  end
  if o.precision > o.max then
    failure.usage("--precision %g is above the line's rate, %g", o.precision, o.max)
  end
  o.list = streams.parse(o.streams, false)
  return o
end

return options
