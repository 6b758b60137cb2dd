-- SPDX-License-Identifier: Apache-2.0
-- The latency test of RFC 2544, section 26.2, at the throughput that was found. Every
-- packet is measured, not one of a trial alone: each carries the time when it was made.

local clock = require("core.lib.clock")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local quiet = require("lib.quiet")
local latency = require("lib.traffic.latency")
local link = require("core.link")
local Generator = require("apps.generate.generator").Generator
local Meter = require("apps.generate.meter").Meter
local Port = require("apps.port.port").Port
local Sink = require("apps.basic.basic_apps").Sink

local delay = {}

local STUCK_S = 1 -- a port that takes nothing for so long takes no more

-- As program.loadtest.frames.
local STACK = "eth,ip4,udp"
local FIELDS = {"ethDst=02:00:00:00:00:02", "ethSrc=02:00:00:00:00:01",
                "ip4Src=198.18.0.1", "ip4Dst=198.19.0.1", "udpDst=7",
                "udpSrc=49153..49216"}

-- Apps of another trial have other names, so that they begin anew; ports stay.
local function graph(list, size, rate, trial)
  local c, is_back = config.new(), {}
  for i, stream in ipairs(list) do
    config.app(c, "nic" .. i, Port, stream.port)
    if not stream.silent then is_back[stream.back] = true end
  end
  for i, stream in ipairs(list) do
    local tail = ("%d_%d"):format(i, trial)
    if not is_back[stream] then
      config.app(c, "sink" .. i, Sink)
      config.link(c, ("nic%d.output -> sink%d.input"):format(i, i))
    end
    if not stream.silent then
      config.app(c, "generator" .. tail, Generator, {stack = STACK, set = FIELDS,
        size = tostring(size), rate = {bits = rate}, stream = i, held = true})
      config.app(c, "meter" .. tail, Meter, {stack = STACK, stream = i})
      config.link(c, ("generator%s.output -> nic%d.input"):format(tail, i))
      config.link(c, ("nic%d.output -> meter%s.input"):format(stream.back.number, tail))
    end
  end
  return c
end

local function run_until(done)
  engine.main{no_report = true, done = done}
  if engine.interrupted then
    failure.raise("stopped by %s before the end", engine.interrupted)
  end
end

local function run_for(seconds)
  local ends = engine.now() + seconds
  run_until(function () return engine.now() >= ends end)
end

-- The sending streams' apps.
local function lanes(list, trial)
  local all = {}
  for i, stream in ipairs(list) do
    if not stream.silent then
      local tail = ("%d_%d"):format(i, trial)
      local apps = engine.app_table
      all[#all + 1] = {name = stream.tx, generator = apps["generator" .. tail],
                       meter = apps["meter" .. tail]}
    end
  end
  return all
end

-- Let the ports take what is in their links, unless they take no more.
local function flush(all)
  local stuck = quiet.since_last(STUCK_S)
  run_until(function ()
    local left = 0
    for _, lane in ipairs(all) do left = left + link.nreadable(lane.generator.sink) end
    return left == 0 or stuck:over(left)
  end)
end

-- Wait for what is still under way, so many seconds.
local function wait_for_last(all, seconds)
  local wait = quiet.after(seconds)
  run_until(function ()
    local missing, came = false, 0
    for _, lane in ipairs(all) do
      local packets = lane.meter.tally.packets
      missing, came = missing or packets < lane.generator.state.sent, came + packets
    end
    return not missing or wait:over(came)
  end)
end

local function result_of(lane)
  local sent = lane.generator:figures()
  local got = lane.meter:figures(sent.numbered)
  return {name = lane.name, tx = sent.packets, rx = got.packets, lost = got.lost,
          numbered = got.numbered, late = sent.latest, latency = got.latency,
          histogram = lane.meter.latency}
end

--- One trial: frames of `size` bytes at `rate` (bits a second on the wire, each stream)
--- for so many seconds; then `wait` seconds at most for those under way. A list of
--- {name, tx, rx, lost (packets), numbered = those that came back with their time,
--- latency = lib.traffic.latency's summary (nil: nothing came), late = the most that a
--- packet was sent too late, in seconds, start = when it began, in seconds since 1970,
--- seconds, histogram}.
function delay.trial(list, size, rate, seconds, wait, trial)
  engine.configure(graph(list, size, rate, trial))
  engine.busywait = true
  local began = tonumber(clock.unix_nanoseconds()) / 1e9
  local all, results = lanes(list, trial), {}
  for _, lane in ipairs(all) do lane.generator:go() end
  run_for(seconds)
  for _, lane in ipairs(all) do lane.generator:hold() end
  flush(all)
  wait_for_last(all, wait)
  for i, lane in ipairs(all) do
    results[i] = result_of(lane)
    results[i].start, results[i].seconds = began, seconds
  end
  return results
end

--- The trials of a test together: {trials = lists as trial() returns them, without
--- histograms, mean = the mean of their means, as the RFC has it, summary = of all
--- packets}; mean and summary are nil if nothing came back. say(result, number) is
--- called with each of a stream, before its histogram goes.
function delay.test(list, size, rate, options, say)
  local all, means, count = latency.new(), 0, 0
  local test = {trials = {}, rate = rate}
  for trial = 1, options.latency_trials do
    local results = delay.trial(list, size, rate, options.latency_duration,
      options.wait, trial)
    for _, r in ipairs(results) do
      latency.merge(all, r.histogram)
      if r.latency then means, count = means + r.latency.mean, count + 1 end
      say(r, trial)
      r.histogram = nil
    end
    test.trials[trial] = results
    engine.busywait = false -- until the next trial
    if options.pause > 0 then run_for(options.pause) end
  end
  test.mean, test.summary = count > 0 and means / count or nil, latency.summary(all)
  return test
end

return delay
