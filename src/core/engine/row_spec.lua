-- SPDX-License-Identifier: Apache-2.0
-- Breaths in a row: how many follow each other without a look at the clock.

local basic = require("apps.basic.basic_apps")
local breath = require("core.engine.breath")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")

local MOST = 32

describe("breaths in a row", function ()
  local now, pulls, per_pull, in_pull = 0, 0, 1, nil

  local Feed = {}
  Feed.__index = Feed
  function Feed:new() return setmetatable({}, self) end
  function Feed:pull()
    pulls = pulls + 1
    for _ = 1, per_pull do link.transmit(self.output.output, packet.allocate()) end
    if in_pull then in_pull() end
  end

  local function graph(extra)
    local c = config.new()
    config.app(c, "feed", Feed)
    config.app(c, "sink", basic.Sink)
    config.link(c, "feed.output -> sink.input")
    if extra then config.app(c, "extra", basic.Sink) end
    return c
  end

  -- Breaths that follow one which began so long ago; how many.
  local function take(seconds)
    local before = pulls
    now = now + seconds
    local n = breath.take(now)
    assert.equal(n, pulls - before)
    return n
  end

  local function grow()
    for _ = 1, 8 do take(1e-7) end
  end

  before_each(function ()
    per_pull, in_pull = 1, nil
    engine.configure(graph())
    take(1)
    for _ = 1, 8 do take(1e-3) end
  end)
  after_each(function () engine.configure(config.new()) end)

  it("are up to 32, as long as they are short", function ()
    assert.equal(1, take(1e-3))
    grow()
    assert.equal(MOST, take(1e-7))
    assert.equal(MOST, take(2e-6)) -- neither more nor fewer
    assert.equal(MOST / 2, take(1e-3))
    for _ = 1, 5 do take(1e-3) end
    assert.equal(1, take(1e-3))
  end)

  it("end with one that has no packet, or many", function ()
    grow()
    per_pull = 64
    assert.equal(MOST, take(1e-7))
    per_pull = 65
    assert.equal(1, take(1e-7))
    per_pull = 0
    assert.equal(1, take(1e-7))
  end)

  it("end where an app says so", function ()
    grow()
    in_pull = function () if pulls % 5 == 0 then breath.end_row() end end
    take(1e-7)
    assert.equal(0, pulls % 5)
    assert.equal(5, take(1e-7))
  end)

  it("are counted, each of them, and timed", function ()
    local counter = require("core.counter")
    local breaths, counted = counter.read(engine.breaths), pulls
    local h = engine.enable_latency_histogram()
    local total = h.total
    engine.main{duration = 0.05, no_report = true}
    counted = pulls - counted
    assert.equal(counted, tonumber(counter.read(engine.breaths) - breaths))
    assert.equal(counted, tonumber(h.total - total))
  end)

  it("don't keep a new configuration waiting", function ()
    local asked_at
    in_pull = function ()
      if pulls % 1000 == 0 and not asked_at then
        asked_at = pulls
        engine.configure(graph(true))
      end
      if engine.app_table.extra then in_pull = nil end
      assert.is_true(not asked_at or pulls == asked_at or in_pull == nil)
    end
    engine.main{no_report = true, in_rows = true, done = function ()
      return engine.app_table.extra ~= nil
    end}
    assert.is_true(asked_at > 0)
  end)

  it("are single where done() is asked after each", function ()
    local asked, before = 0, pulls
    engine.main{no_report = true, done = function ()
      asked = asked + 1
      return asked == 3000
    end}
    assert.equal(3000, pulls - before)
  end)
end)
