-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local engine = require("core.app")
local regions = require("testing.regions")
local packet_paths = require("core.fuse.packet_paths")
local Port = require("apps.port.port").Port

describe("#slow shape", function ()
  after_each(function () engine.configure(config.new()) end)

  local Split = regions.class{
    outputs = {"usual", "rare"},
    process = function (self, p) return p, self.way end,
  }

  -- Packets go by the first output, or the second.
  local function setup(way)
    local c = config.new()
    config.app(c, "port", Port, "null")
    config.app(c, "split", Split)
    config.app(c, "a", regions.Pass)
    config.app(c, "b", regions.Pass)
    for _, spec in ipairs{"port.output -> split.input", "split.usual -> a.input",
                          "split.rare -> b.input", "a.output -> port.input"} do
      config.link(c, spec)
    end
    engine.configure(c)
    engine.busywait = true
    engine.app_table.split.way = way
    return engine.regions[1]
  end

  local function taken(region)
    for event in pairs(region.shapes[1].taken or {}) do
      local e = region.description.events[event]
      if e.app == "split" then return e.output end
    end
    return nil
  end

  local function run_until(done)
    local ends = C.pg_monotonic() + 20
    engine.main{no_report = true, done = function ()
      return done() or C.pg_monotonic() > ends
    end}
  end

  it("has a region made anew whose loop was compiled for a rare packet", function ()
    local region = setup(2)
    run_until(function () return region.shapes[1].taken end)
    assert.equal("rare", taken(region))
    engine.app_table.split.way = 1
    assert.equal(region, engine.regions[1])
    run_until(function () return engine.regions[1] ~= region end)
    region = engine.regions[1]
    run_until(function () return region.shapes[1].taken end)
    assert.is_nil(taken(region))
  end)

  it("tells by what comes, not by what was first", function ()
    local came, went = {packets = 0LL}, {packets = 0LL} -- at the app; by its output 2
    local region = {
      description = {index = {a = 1}, events = {{app = "a", output = "second"}}},
      tally = {into = {came}, counts = {went}, first = {2}, last = {1},
               outs = {{{}, {event = 1}}}},
      shapes = {{taken = {[1] = 0LL}, seen = {}}},
    }
    local function look(by_first, by_second)
      came.packets = came.packets + by_first + by_second
      went.packets = went.packets + by_second
      return packet_paths.rare(region)
    end
    look(0, 2000)
    assert.is_false(look(0, 2000))
    assert.is_false(look(2000, 2000))
    assert.is_false(look(2000, 300))
    assert.is_true(look(2000, 200))
    assert.is_false(look(900, 0)) -- too few to tell
    region.shapes[1].taken = {}
    assert.is_false(look(2000, 0))
  end)

  it("has one made anew whose app began with much work for few", function ()
    local Learner = regions.class{}
    function Learner:new()
      local learner = {known = 0, detours = ffi.new("int64_t[1]")}
      return setmetatable(learner, {__index = Learner})
    end
    function Learner:process(p)
      if self.known < self.all then -- of the first packets it learns something
        self.known = self.known + 1
        self.detours[0] = self.detours[0] + 1
      end
      return p
    end
    regions.on_null("learner", Learner)
    engine.busywait = true
    local learner, region = engine.app_table.learner, engine.regions[1]
    learner.all = 2 ^ 50
    run_until(function () return region.shapes[1].detoured end)
    assert.is_not_nil(next(region.shapes[1].detoured))
    engine.main{duration = 0.1, no_report = true}
    assert.equal(region, engine.regions[1]) -- it is what is usual
    learner.all = 0
    run_until(function () return engine.regions[1] ~= region end)
    region = engine.regions[1]
    run_until(function () return region.shapes[1].detoured end)
    assert.is_nil(next(region.shapes[1].detoured))
  end)

  it("leaves one alone that was compiled for what is usual", function ()
    local region = setup(1)
    run_until(function () return region.shapes[1].taken end)
    engine.main{duration = 0.1, no_report = true}
    assert.is_nil(taken(region))
    assert.is_false(packet_paths.rare(region))
    assert.equal(region, engine.regions[1])
  end)
end)
