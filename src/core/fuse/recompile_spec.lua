-- SPDX-License-Identifier: Apache-2.0

local C = require("core.native")
local config = require("core.config")
local drift = require("core.fuse.recompile")
local engine = require("core.app")
local link = require("core.link")
local Port = require("apps.port.port").Port

local function class(process, outputs)
  local c = {process = process, outputs = outputs}
  c.__index = c
  function c:new() return setmetatable({way = 1}, self) end
  return c
end

describe("drift", function ()
  after_each(function () engine.configure(config.new()) end)

  local Split = class(function (self, p) return p, self.way end, {"first", "second"})
  local Pass = class(function (_, p) return p end)

  -- Packets of a null port go one of two ways, and back.
  local function setup(kind, more)
    local c = config.new()
    config.app(c, "port", Port, "null")
    config.app(c, "split", kind or Split)
    for _, name in ipairs{"a", "b", "c", "d", "join"} do
      if more or name ~= "c" and name ~= "d" then config.app(c, name, Pass) end
    end
    for _, spec in ipairs(more or {}) do config.link(c, spec) end
    for _, spec in ipairs{"port.output -> split.input", "split.first -> a.input",
                          "split.second -> b.input", "a.output -> join.a",
                          "b.output -> join.b", "join.output -> port.input"} do
      config.link(c, spec)
    end
    engine.configure(c)
    engine.busywait = true
    return engine.regions[1]
  end

  local function run(seconds) engine.main{duration = seconds, no_report = true} end

  -- Until the region is made anew; it takes a fraction of a second.
  local function run_until_anew(region)
    local ends = C.pg_monotonic() + 20
    engine.main{no_report = true, done = function ()
      return engine.regions[1] ~= region or C.pg_monotonic() > ends
    end}
  end

  local function passed(spec) return link.stats(engine.link_table[spec]).txpackets end

  it("leaves a region alone while its traffic stays #slow", function ()
    local region = setup()
    run(0.3)
    assert.equal(region, engine.regions[1])
  end)

  it("makes a region anew when traffic has moved, and counts on #slow", function ()
    local region = setup()
    run(0.2)
    local first, second = passed("split.first -> a.input"),
      passed("split.second -> b.input")
    assert.is_true(first > 1000)
    assert.equal(0, second)
    engine.app_table.split.way = 2
    run_until_anew(region)
    assert.not_equal(region, engine.regions[1])
    assert.equal(first, passed("split.first -> a.input"))
    assert.equal(passed("port.output -> split.input") - first,
      passed("split.second -> b.input"))
    assert.equal(passed("port.output -> split.input"),
      passed("join.output -> port.input"))
  end)

  it("knows packets that take many paths, once", function ()
    local Dice = class(function (self, p) return p, math.random(self.ways) end,
      {"first", "second", "third", "fourth"})
    function Dice:new() return setmetatable({ways = 4}, self) end
    local region = setup(Dice, {"split.third -> c.input", "split.fourth -> d.input",
                                "c.output -> join.c", "d.output -> join.d"})
    assert.is_false(region.description.spread)
    run_until_anew(region)
    local anew = engine.regions[1]
    assert.is_true(anew.description.spread)
    run(0.5)
    assert.equal(anew, engine.regions[1])
    local sum = 0
    for _, way in ipairs{"first -> a", "second -> b", "third -> c", "fourth -> d"} do
      sum = sum + passed("split." .. way .. ".input")
    end
    assert.equal(passed("port.output -> split.input"), sum)
    assert.equal(sum, passed("join.output -> port.input"))
    engine.app_table.split.ways = 1
    run_until_anew(anew)
    assert.is_false(engine.regions[1].description.spread)
  end)

  it("waits longer each time", function ()
    local tally = {napps = 1, outs = {{{}, {event = 1}}}, first = {2}, last = {1},
                   counts = {{packets = 0}}, into = {{packets = 0}}, emits = {}}
    local region = {tally = tally, loop = {},
      description = {apps = {"drift_spec"}, app_of = {drift_spec = {}}}}
    local times, way = {}, 1
    for i = 1, 1000 do -- a look every 10 ms; the way changes every 50
      if i % 5 == 0 then way = 3 - way end
      tally.into[1].packets = tally.into[1].packets + 2000
      if way == 2 then tally.counts[1].packets = tally.counts[1].packets + 2000 end
      if drift.check({region}, i * 0.01, i) then
        assert.is_true(region.stale)
        times[#times + 1] = i * 0.01
        region.drift, region.stale = nil, nil -- made anew
      end
    end
    assert.is_true(#times >= 4 and #times <= 9)
    for i = 3, #times do
      assert.is_true(times[i] - times[i - 1] > 1.5 * (times[i - 1] - times[i - 2]))
    end
  end)
end)
