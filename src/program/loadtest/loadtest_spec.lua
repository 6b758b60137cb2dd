-- SPDX-License-Identifier: Apache-2.0

local doubt = require("program.loadtest.doubt")
local engine = require("core.app")
local frames = require("program.loadtest.frames")
local link = require("core.link")
local packet = require("core.packet")
local report = require("program.loadtest.report")
local Repeater = require("program.loadtest.repeater").RateLimitedRepeater
local search = require("program.loadtest.search")
local streams = require("program.loadtest.streams")
local tester = require("program.loadtest.tester")
local throughput = require("program.loadtest.throughput")
local transient = require("program.loadtest.transient.transient")

local function fails(sentence, func, ...)
  local ok, err = pcall(func, ...)
  assert.is_false(ok)
  assert.matches(sentence, tostring(err), 1, true)
end

describe("search", function ()
  it("finds any limit, within the precision", function ()
    math.randomseed(7)
    for _ = 1, 500 do
      local precision = math.random(1, 50)
      local max = precision * math.random(1, 1000) + math.random(0, precision - 1)
      local truth, trials = math.random() * 1.2 * max, 0
      local found = search.limit({max = max, precision = precision, retries = 0},
        function (rate)
          trials = trials + 1
          assert.is_true(rate > 0 and rate <= max and rate % precision == 0)
          return rate <= truth
        end)
      local best = math.floor(math.min(truth, max) / precision) * precision
      assert.equal(best, found)
      assert.is_true(trials <= 2 + math.ceil(math.log(max / precision) / math.log(2)))
    end
  end)

  it("tries again what fails", function ()
    local seen = {}
    local function flaky(rate)
      seen[rate] = (seen[rate] or 0) + 1
      return seen[rate] == 3 and rate <= 5
    end
    assert.equal(5, search.limit({max = 8, precision = 1, retries = 2}, flaky))
    assert.equal(3, seen[8])
    seen = {}
    assert.equal(0, search.limit({max = 8, precision = 1, retries = 1}, flaky))
  end)

  it("is over where nothing passes, or nothing can be tried", function ()
    assert.equal(0, search.limit({max = 9, precision = 2, retries = 0},
      function () return false end))
    assert.equal(0, search.limit({max = 1, precision = 2, retries = 0}, error))
  end)
end)

describe("streams", function ()
  it("are groups of four, or a file and a port", function ()
    local file = os.tmpname()
    for _, words in ipairs{{file, "ring:x"}, {"ring:x", file}} do
      local list = streams.parse(words, true)
      assert.equal(file, list[1].file)
      assert.equal("ring:x", list[1].port)
      assert.equal(list[1], list[1].back)
    end
    os.remove(file)
    local list = streams.parse({"a", "A", "B", "p", "b", "B", "A", "q"}, true)
    assert.same({"a", "p", "q", 2}, {list[1].file, list[1].port, list[1].back.port,
      list[2].number})
    assert.equal("null", streams.parse({"null"}, false)[1].port)
    list = streams.parse({"A", "B", "p", "B", "-", "q"}, false)
    assert.same({"q", false, true}, {list[1].back.port, list[1].silent, list[2].silent})
  end)

  it("are told of when they make no sense", function ()
    fails("give FILE PORT, or groups of FILE TX-NAME RX-NAME PORT; not 3 words",
      streams.parse, {"a", "b", "c"}, true)
    fails("give PORT, or groups", streams.parse, {}, false)
    fails("the streams 'A' and 'B' can't both come back at 'B'", streams.parse,
      {"A", "B", "p", "B", "B", "q"}, false)
    fails("no stream sends anything", streams.parse, {"A", "-", "p"}, false)
    fails("there are two streams called 'A'", streams.parse,
      {"A", "A", "p", "A", "A", "q"}, false)
    fails("the stream 'A' is to come back at 'C'", streams.parse, {"A", "C", "p"},
      false)
  end)

  it("have sizes", function ()
    assert.same({60, 1514}, streams.sizes("60,1514"))
    assert.equal(7, #streams.sizes("rfc2544"))
    for _, text in ipairs{"", "59", "60,", "x", "60;70", "20000"} do
      assert.is_nil((streams.sizes(text)))
    end
  end)
end)

describe("RateLimitedRepeater", function ()
  local app, output, now, original_now

  before_each(function ()
    now, original_now = 100, engine.now
    rawset(engine, "now", function () return now end)
    output = link.new("repeater_output")
    -- 84 and 150 bytes on the wire
    app = Repeater:new{frames = {("a"):rep(60), ("b"):rep(126)}}
    app.input, app.output = {}, {output = output}
  end)
  after_each(function ()
    rawset(engine, "now", original_now)
    app:stop()
    link.free(output, "repeater_output")
  end)

  local function drain()
    local text = {}
    for i = 1, link.nreadable(output) do
      local p = link.receive(output)
      text[i] = string.char(p.data[0])
      packet.free(p)
    end
    return table.concat(text)
  end

  local function at(time)
    now = 100 + time
    app:pull()
    return drain()
  end

  it("sends nothing until it has a rate, and none after it", function ()
    assert.equal("", at(1))
    app:set_rate(8 * 234)
    assert.equal("", at(1))
    assert.equal("a", at(1.05))
    app:set_rate(0)
    assert.equal("", at(3))
  end)

  it("keeps the rate over many breaths", function ()
    app:set_rate(8 * 234 * 1000) -- 2,000 packets a second
    for i = 1, 2500 do at(i / 2500) end
    assert.is_true(math.abs(app.packets - 2000) <= 1)
    assert.equal(app.bits, 8 * (84 * math.ceil(app.packets / 2)
      + 150 * math.floor(app.packets / 2)))
  end)

  it("makes up for a millisecond at most, and tells how late it was", function ()
    app:set_rate(8 * 234 * 10000) -- 20 packets a millisecond
    for i = 1, 1000 do at(i / 1e5) end
    assert.is_true(app.packets >= 199 and app.packets <= 201)
    assert.equal(0, app.late)
    at(0.0105)
    assert.is_true(app.packets <= 211)
    assert.equal(0, app.late)
    local before = app.packets
    at(0.1105)
    assert.is_true(app.packets <= before + 21)
    assert.is_true(math.abs(app.late - 0.099) < 1e-3)
    assert.equal(0, app.held)
    app:set_rate(1e6)
    assert.equal(0, app.late)
  end)

  it("tells a full output from being late", function ()
    app:set_rate(8 * 234 * 1e6)
    for i = 1, 100 do
      now = 100 + i / 1e4
      app:pull() -- and nobody takes what it sends
    end
    assert.equal(0, app.late)
    assert.is_true(app.held > 5e-3)
    assert.is_true(link.full(output))
    now = now + 0.05 -- whatever the output did, this process wasn't there
    app:pull()
    assert.is_true(app.late > 0.04)
  end)

  it("is late if it can't make packets fast enough", function ()
    app:set_rate(8 * 117 * 1e7) -- 500 packets each time, of which it sends 256
    for i = 1, 100 do at(i * 5e-5) end
    assert.is_true(app.late > 1e-3)
    assert.equal(0, app.held)
  end)

  it("sends what its output has room for", function ()
    app:set_rate(8 * 234 * 1e6)
    for _ = 1, 10 do
      now = now + 0.01
      app:pull()
    end
    assert.is_true(link.full(output))
    assert.equal(0, link.stats(output).txdrop)
    assert.equal(1023, app.packets)
  end)

  it("keeps what it receives", function ()
    local input = link.new("repeater_input")
    app.input.input = input
    link.transmit(input, packet.from_string(("c"):rep(60)))
    app:pull()
    app:set_rate(8e6)
    assert.matches("^abcab", at(0.05))
    app.input.input = nil
    link.free(input, "repeater_input")
  end)
end)

describe("a trial in which this machine was late", function ()
  -- A tester whose trials give these results: {late, passed}.
  local function tester_of(results)
    local t, n = tester.new({}), 0
    function t:trial()
      n = n + 1
      return {rate = 1, late = results[n][1], passes = results[n][2], number = n}
    end
    return t
  end

  local function judge(result) return result.passes, "packets were lost" end

  it("is done again, unless it has passed", function ()
    local void = {}
    local function again(result) void[#void + 1] = result.number end
    local function run(...) return tester_of{...}:valid_trial(1, 1, 1, judge, again) end
    local result = run({0.5, true})
    assert.same({1, false, ""}, {result.number, result.void, result.reason})
    result = run({0, false})
    assert.same({1, false, "packets were lost"},
      {result.number, result.passed, result.reason})
    assert.same({}, void)
    result = run({0.1, false}, {0.2, false}, {0, false})
    assert.same({3, "packets were lost"}, {result.number, result.reason})
    assert.is_false(result.void)
    assert.same({1, 2}, void)
  end)

  it("counts in the end, as this machine's fault", function ()
    local late = {0.0123, false}
    local t = tester_of{late, late, late, late, late, late, late}
    local result = t:valid_trial(1, 1, 1, judge, function () end)
    assert.equal(tester.MOST_VOID + 1, result.number)
    assert.equal(result.number + 1, t:valid_trial(1, 1, 1, judge, error).number)
    assert.is_true(result.void)
    assert.equal("not measurable at this rate here, because this machine was 12.3 ms "
      .. "behind, and makes up for a burst of 128 packets or 1 ms", result.reason)
    assert.matches("this machine took nothing from the ports for 5.0 ms",
      doubt.not_measurable({late = 0.005, blind = 0.005}, 32), 1, true)
  end)

  it("isn't void where the verdict holds in any case", function ()
    local result = tester_of{{1, false}}:valid_trial(1, 1, 1,
      function () return false, "the command said so", true end)
    assert.equal("the command said so", result.reason)
  end)

  it("may be why a limit is found", function ()
    local function of(...) return throughput.limited_by_machine({...}, 5) end
    assert.is_nil(of())
    assert.is_nil(of({rate = 5, passed = true}))
    assert.equal(7, of({rate = 9}, {rate = 7, void = true}, {rate = 5, passed = true}))
    assert.is_nil(of({rate = 9, void = true}, {rate = 7}, {rate = 5, passed = true}))
    assert.is_nil(of({rate = 7, void = true}, {rate = 7}))
    assert.is_nil(of({rate = 5, void = true}, {rate = 5, passed = true}))
  end)
end)

describe("loadtest", function ()
  it("makes frames of RFC 2544's kind", function ()
    for _, size in ipairs{60, 1514} do
      local list = frames.make(size)
      for _, bytes in ipairs(list) do assert.equal(size, #bytes) end
      assert.equal("\8\0\69\0", list[1]:sub(13, 16))
      assert.equal("\198\18\0\1\198\19\0\1", list[1]:sub(27, 34))
      local sum = 0
      for i = 15, 34, 2 do sum = sum + list[1]:byte(i) * 256 + list[1]:byte(i + 1) end
      assert.equal(0xffff, sum % 0xffff == 0 and 0xffff or sum % 0xffff)
      assert.are_not.equal(list[1], list[2])
    end
  end)

  local function result(change)
    local s = {name = "A", tx = 100, rx = 100, tx_bytes = 6000, rx_bytes = 6000,
               tx_pps = 1e6, rx_pps = 1e6, tx_rate = 6e9, rx_rate = 5e9, drops = 0,
               failed = 0, lost = 0, loss = 0, kept = true}
    for key, value in pairs(change or {}) do s[key] = value end
    return {rate = 6e9, seconds = 1, streams = {s}}
  end

  it("judges a trial", function ()
    local options = {loss = 0.01}
    assert.is_true((throughput.verdict(result(), options)))
    assert.is_true((throughput.verdict(result{loss = 0.01}, options)))
    for reason, change in pairs{
      ["packets were lost"] = {loss = 0.011}, ["nothing was sent"] = {tx = 0},
      ["the rate was not kept"] = {kept = false},
      ["the port couldn't send"] = {failed = 1},
    } do
      local passed, why = throughput.verdict(result(change), options)
      assert.is_false(passed)
      assert.equal(reason, why)
    end
    assert.is_false((throughput.verdict(result(), {exec = "exit 3"})))
    assert.is_true((throughput.verdict(result{loss = 1}, {exec = "true"})))
  end)

  it("writes results in each form", function ()
    local r = result{lost = 5, loss = 0.05, drops = 2, rx = 95}
    local text = report.text(r)
    assert.matches("  A:\n    TX 100 packets (1.000000 MPPS), 6000 bytes (6.000000 "
      .. "Gbps)\n    RX 95 packets", text, 1, true)
    assert.matches("Loss: 2 ingress drop + 3 packets lost (5.000000%)", text, 1, true)
    assert.equal("6.000000,A,100,1.000000,6000,6.000000,95,1.000000,6000,5.000000,2,3,"
      .. "5.000000\n", report.csv(r))
    assert.equal(#report.CSV_HEADER:gsub("[^,]", ""), #report.csv(r):gsub("[^,]", ""))
    assert.equal("A_rx_mpps,6,1.000000,mpps\nA_rx_gbps,6,5.000000,gbps\n"
      .. "A_ingress_drop,6,2.000000,packets\nA_lost_percent,6,5.000000,percentage\n",
      report.hydra(r))
  end)

  it("has workloads", function ()
    assert.same({4, 8, 10}, transient.rates("ramp_up", 10, 4))
    assert.same({10, 8, 4}, transient.rates("ramp_down", 10, 4))
    assert.same({5, 10, 10, 5}, transient.rates("ramp_up_down", 10, 5))
    assert.same({10}, transient.rates("constant", 10, 5))
  end)
end)
