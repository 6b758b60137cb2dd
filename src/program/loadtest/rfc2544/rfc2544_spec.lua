-- SPDX-License-Identifier: Apache-2.0

local bursts = require("program.loadtest.rfc2544.bursts")
local loss = require("program.loadtest.rfc2544.loss")
local testing = require("testing.support")
local options = require("program.loadtest.rfc2544.options")
local page = require("program.loadtest.rfc2544.page")
local tester = require("program.loadtest.tester")
local text = require("program.loadtest.rfc2544.text")

local SETTINGS = {max = 1e9, step = 0.1, duration = 1, wait = 0, pause = 0, bursts = 3,
                  burst_duration = 2}

-- A tester before a device that passes `limit` bits a second, and has a buffer for so
-- many packets; of late(n) the n-th trial is late.
local function device(limit, buffer, late)
  local t, n = tester.new({}), 0
  local function result(rate, tx, lost)
    n = n + 1
    local is_late = late and late(n)
    return {rate = rate, late = is_late and 0.1 or 0, streams = {{tx = tx, lost = lost,
      bits = tx, kept = not is_late}}}
  end
  function t:trial(rate)
    return result(rate, 1000, math.max(0, 1000 * (1 - limit / rate)))
  end
  function t:burst(rate, packets)
    return result(rate, packets, math.max(0, packets - buffer))
  end
  function t:pause() end
  return t
end

local function nothing() end

describe("The frame loss test", function ()
  local function rates_of(trials)
    local list = {}
    for i, trial in ipairs(trials) do list[i] = math.floor(trial.rate / 1e6 + 0.5) end
    return list
  end

  it("goes down until nothing is lost twice", function ()
    local trials = loss.test(device(750e6), SETTINGS, nothing)
    assert.same({1000, 900, 800, 700, 600}, rates_of(trials))
    assert.is_true(math.abs(trials[1].loss - 0.25) < 1e-9)
    assert.equal(0, trials[4].loss)
    assert.same({1000, 900}, rates_of(loss.test(device(1e9), SETTINGS, nothing)))
  end)

  it("ends at the lowest rate", function ()
    assert.equal(10, #loss.test(device(1e6), SETTINGS, nothing))
    assert.equal(4, #loss.rates(1, 0.3))
  end)

  it("does again what this machine was late for", function ()
    local trials = loss.test(device(1e9, 0, function (n) return n == 1 end), SETTINGS,
      nothing)
    assert.equal(2, #trials)
    assert.same({false, true, ""}, {trials[1].void, trials[1].passed, trials[1].reason})
    trials = loss.test(device(1e9, 0, function () return true end), SETTINGS, nothing)
    assert.equal(10, #trials)
    assert.is_true(trials[1].void)
    assert.matches("not measurable at this rate here", trials[1].reason, 1, true)
    assert.is_false(trials[1].kept)
  end)
end)

describe("The test of bursts", function ()
  it("finds the longest", function ()
    local longest, precision = bursts.longest(60, 1e9, 2) -- 84 bytes on the wire
    assert.equal(0, longest % precision)
    assert.is_true(longest <= 2e9 / (84 * 8) and longest > 0.98 * 2e9 / (84 * 8))
    for _, buffer in ipairs{0, 5e4, 1e6, 1e9} do
      local test = bursts.test(device(0, buffer), 60, SETTINGS, nothing)
      local best = math.min(longest, buffer - buffer % precision)
      assert.equal(3, #test.trials)
      assert.is_true(math.abs(test.frames - best) < 1e-6 * longest)
      assert.is_true(math.abs(test.seconds - test.frames * 84 * 8 / 1e9) < 1e-9)
      assert.is_false(test.machine)
    end
  end)

  it("says so if this machine sets the limit", function ()
    local test = bursts.test(device(0, 1e9, function () return true end), 60, SETTINGS,
      nothing)
    assert.equal(0, test.frames)
    assert.is_true(test.machine)
  end)
end)

describe("loadtest rfc2544", function ()
  it("does what the RFC asks for, unless told otherwise", function ()
    local o = options.parse{"null"}
    assert.same({60, 120, 20, 2, 50, 2, 5, 7}, {o.duration, o.latency_duration,
      o.latency_trials, o.burst_duration, o.bursts, o.wait, o.pause, #o.sizes})
    o = options.parse{"--quick", "--bursts", "9", "-b", "1G", "null"}
    assert.same({1, 9, 1e7}, {o.duration, o.bursts, o.precision})
  end)

  it("refuses what makes no sense", function ()
    for words, sentence in pairs{
      ["--tests x null"] = "'x' is none of throughput, latency, loss, bursts",
      ["--tests latency null"] = "add throughput",
      ["--step 11% null"] = "'11%' is more than 10",
      ["--step 1e-9 null"] = "'1e-9' is less than 0.01, which makes 10,000 rates",
      ["-D 0 null"] = "--duration 0: a trial takes some time",
      ["--burst-duration 0 null"] = "--burst-duration 0",
      ["-b 1M -p 2M null"] = "--precision 2e+06 is above the line's rate, 1e+06",
      ["--page - null"] = "--page: '-' is standard output, to which this can't go",
      ["--json /none/x null"] = "--json: '/none/x' can't be written",
    } do
      local said = testing.refusal(options.parse, words)
      assert.matches(sentence, said, 1, true)
    end
  end)

  it("knows no loss of nothing", function ()
    local trial = {rate = 1e9, tx = 0, lost = 0, loss = 0, kept = false}
    assert.equal("At 1.000 Gbit/s: nothing was sent.\n", text.loss(trial))
    assert.equal("-", text.share(trial))
  end)

  local function found(results)
    return {report = "rfc2544", version = "1", time = "now", bitrate = 1e9,
      streams = {{tx = "<A>", rx = "<A>", port = "null"}}, precision = 1e7,
      duration = 1,
      wait = 0, pause = 0, latency_duration = 1, latency_trials = 1,
      burst_duration = 1, bursts = 1, step = 0.1, quick = true, results = results}
  end

  it("has a page for any results", function ()
    local none = page.text(found{{size = 60, frame = 64, line_pps = 1e6}})
    assert.is_nil(none:find("<svg", 1, true))
    assert.matches("&lt;A&gt; at null", none, 1, true)
    local s = {min = 1, mean = 2000, median = 2, p90 = 3, p99 = 4, p999 = 5, max = 6,
               count = 7}
    local r = {size = 60, frame = 64, line_pps = 1488095,
      throughput = {limit = 5e8, pps = 744047, share = 0.5, machine = true},
      latency = {rate = 5e8, mean = 2000, summary = s,
        trials = {{{name = "A", tx = 7, rx = 7, lost = 0, latency = s}, {name = "B",
          lost = 9}}}},
      loss = {{rate = 1e9, tx = 10, lost = 5, loss = 0.5, kept = true}},
      back_to_back = {frames = 100, seconds = 1, longest = 100, machine = false,
                      trials = {}}}
    local whole = page.text(found{r})
    assert.equal(4, select(2, whole:gsub("<svg", "")))
    assert.matches("<td>2.000 us</td>", whole, 1, true)
    assert.is_nil(whole:find("http[s]?://[^w]"))
    assert.matches("64  744.047 kpps *", text.summary(found{r}), 1, true)
    assert.matches("* at a rate that this machine or the port", whole, 1, true)
  end)
end)
