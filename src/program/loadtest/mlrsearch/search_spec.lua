-- SPDX-License-Identifier: Apache-2.0
-- The search on made-up devices, without time.

local classify = require("program.loadtest.mlrsearch.classify")
local search = require("program.loadtest.mlrsearch.search")

local function goal(changes)
  local g = {loss_ratio = 0, duration = 1, duration_sum = 1, exceed_ratio = 0,
             width = 0.005}
  for key, value in pairs(changes or {}) do g[key] = value end
  return g
end

local function trial(duration, loss_ratio)
  return {duration = duration, loss_ratio = loss_ratio}
end

local function times(n, duration, loss_ratio, list)
  list = list or {}
  for _ = 1, n do list[#list + 1] = trial(duration, loss_ratio) end
  return list
end

describe("a load", function ()
  -- Figures worked out by hand from the formulas of the draft's appendix A.
  it("is decided by one full-length trial for RFC 2544's goal", function ()
    assert.is_nil(classify.load({}, goal()))
    assert.equal("lower", classify.load({trial(1, 0)}, goal()))
    assert.equal("upper", classify.load({trial(1, 0.1)}, goal()))
    assert.equal("upper", classify.load({trial(0.1, 0.1)}, goal())) -- short and bad
    assert.is_nil(classify.load({trial(0.1, 0)}, goal()))          -- short and good
  end)

  it("may exceed its loss for a share of the time", function ()
    local g = goal{duration_sum = 21, exceed_ratio = 0.5, loss_ratio = 0.005}
    assert.is_nil(classify.load(times(10, 1, 0), g))
    assert.equal("lower", classify.load(times(11, 1, 0.005), g))
    assert.is_nil(classify.load(times(10, 1, 0.006), g))
    assert.equal("upper", classify.load(times(11, 1, 0.006), g))
    assert.equal("lower", classify.load(times(10, 1, 1, times(11, 1, 0)), g))
    -- Short trials: good ones make up for bad ones, as exceed_ratio lets them.
    assert.equal("upper", classify.load(times(110, 0.1, 1), g))
    assert.is_nil(classify.load(times(110, 0.1, 1, times(110, 0.1, 0)), g))
  end)

  it("has a conditional throughput", function ()
    local g = goal{duration_sum = 3, exceed_ratio = 0.5, loss_ratio = 0.1}
    local list = {trial(1, 0.1), trial(1, 0), trial(1, 0.05), trial(0.1, 0.9)}
    -- 1.5 s of the best: 0, and half of that with 0.05.
    assert.equal(95, classify.conditional_throughput(100, list, g))
    g.exceed_ratio = 0
    assert.equal(90, classify.conditional_throughput(100, list, g))
    assert.equal(0, classify.conditional_throughput(100, {trial(1, 0)},
      goal{duration_sum = 2}))
  end)
end)

-- A device that forwards `rate` and has a queue of so many: what a trial loses.
local function device(rate, queue)
  return function (load, duration)
    local offered = load * duration
    local forwarded = math.min(offered, rate * duration + (queue or 0))
    return (offered - forwarded) / offered
  end
end

local function run(lost, g, options)
  local s, seconds, n
  seconds, n = 0, 0
  s = search.new(options or {min = 10, max = 1e7}, function (load, duration)
    n, seconds = n + 1, seconds + duration
    assert.is_true(n < 2000, "it doesn't end")
    local loss_ratio, why = lost(load, duration)
    if not loss_ratio then return nil, why end
    return trial(duration, loss_ratio)
  end)
  s:find(g)
  return s:result(g), s, seconds, n
end

describe("MLRsearch", function ()
  it("encloses the limit of any device, to the width", function ()
    math.randomseed(41)
    for i = 1, 500 do
      local rate = 10^(1.1 + 5.8 * math.random())
      local queue = i % 2 == 0 and rate * 0.3 * math.random() or 0
      local loss_ratio = i % 3 == 0 and 0.005 or 0
      local g = goal{loss_ratio = loss_ratio, duration_sum = i % 5 == 0 and 21 or 1,
                     exceed_ratio = i % 5 == 0 and 0.5 or 0}
      local r, _, _, n = run(device(rate, queue), g)
      -- Of a full-length trial, a second: what it may be offered.
      local truth = math.min(1e7, (rate + queue) / (1 - loss_ratio))
      local message = ("device %d: %g and %g"):format(i, rate, queue)
      assert.is_true(r.lower <= truth and truth < r.upper, message)
      assert.is_true(r.width <= 0.005 * (1 + 1e-6), message)
      assert.is_true(r.conditional_throughput <= rate + queue + 1e-6, message)
      assert.is_true(r.conditional_throughput >= 0.99 * (rate + queue), message)
      -- 11 trials of 21 decide.
      assert.is_true(n < 60 * (g.duration_sum == 21 and 11 or 1),
        message .. ": " .. n .. " trials")
    end
  end)

  it("gets within 1 % where trials now and then lose something", function ()
    math.randomseed(7)
    for i = 1, 200 do
      local rate = 10^(2 + 4 * math.random())
      local lost = device(rate)
      local r = run(function (load, duration)
        -- A trial in ten is disturbed.
        return math.random() < 0.1 and 0.01 + 0.9 * lost(load, duration)
          or lost(load, duration)
      end, goal{duration_sum = 21, exceed_ratio = 0.5})
      assert.is_true(math.abs(r.lower - rate) < 0.01 * rate,
        ("device %d: %g found for %g"):format(i, r.lower, rate))
    end
  end)

  it("uses trials for all goals", function ()
    local lost, n = device(12345), 0
    local s = search.new({min = 10, max = 1e6}, function (load, duration)
      n = n + 1
      return trial(duration, lost(load, duration))
    end)
    local ndr, pdr = goal(), goal{loss_ratio = 0.005}
    s:find(ndr)
    local alone = n
    s:find(pdr)
    assert.is_true(n - alone < alone)
    assert.is_true(s:result(ndr).lower <= 12345 and s:result(ndr).upper > 12345)
    local r = s:result(pdr)
    assert.is_true(r.lower <= 12345 / 0.995 and r.upper > 12345 / 0.995)
    assert.is_true(r.conditional_throughput <= 12345 + 1e-6)
  end)

  it("says which bound there isn't", function ()
    local r = run(function () return 0 end, goal())
    assert.same({1e7, nil}, {r.lower, r.upper})
    r = run(function () return 1 end, goal())
    assert.same({nil, 10}, {r.lower, r.upper})
    assert.is_nil(r.conditional_throughput)
  end)

  it("doesn't take for the device's what can't be measured", function ()
    local lost = device(1e6)
    local r = run(function (load, duration)
      if load > 5e4 then return nil, "too busy" end
      return lost(load, duration)
    end, goal())
    assert.equal("too busy", r.reason)
    assert.is_true(r.lower <= 5e4 and r.lower > 0.99 * 5e4)
    r = run(function () return nil, "too busy" end, goal())
    assert.same({nil, 10, "too busy"}, {r.lower, r.upper, r.reason})
  end)

  it("keeps what it knows when a trial is cut short", function ()
    local lost, n = device(5000), 0
    local g = goal()
    local s = search.new({min = 10, max = 1e6}, function (load, duration)
      n = n + 1
      if n == 12 then error("stopped", 0) end
      return trial(duration, lost(load, duration))
    end)
    assert.is_false(pcall(s.find, s, g))
    local r = s:result(g)
    assert.is_true((r.lower or 0) <= 5000 and (r.upper or 1e6) > 5000)
  end)
end)
