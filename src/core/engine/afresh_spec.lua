-- SPDX-License-Identifier: Apache-2.0
-- (That code which was given up is compiled again is seen by core.fuse.garbage_spec, as
-- it runs after thousands of graphs.)

local afresh = require("core.engine.afresh")
local config = require("core.config")
local engine = require("core.app")
local health = require("core.watch.health")
local regions = require("testing.regions")
local testing = require("testing.support")

describe("compiled code", function ()
  local most = afresh.MOST_TRACES
  after_each(function ()
    afresh.MOST_TRACES = most
    engine.configure(config.new())
  end)

  local Source = {new = function () return setmetatable({}, {__index = {
    pull = function (self)
      for _ = 1, 10 do link.transmit(self.output.output, packet.allocate()) end
    end}}) end}
  local apps = {source = {Source}, a = {regions.Pass},
                sink = {require("apps.basic.basic_apps").Sink}}
  local links = {"source.output -> a.input", "a.output -> sink.input"}

  local function breathe()
    for _ = 1, 2000 do engine.breathe() end
    return health.traces_alive
  end

  it("is thrown away when the configuration changes and there is much", function ()
    regions.run(apps, links)
    local flushes, unasked, flush = 0, health.flushes, health.flush
    health.flush = function ()
      flushes = flushes + 1
      flush()
      assert.equal(0, health.traces_alive)
    end
    assert.is_true(breathe() > 0)
    afresh.MOST_TRACES = 1
    local ok, err = pcall(regions.run, apps, links)
    health.flush = flush
    assert.is_true(ok, err)
    assert.equal(1, flushes)
    assert.equal(unasked, health.flushes)
    assert.is_true(breathe() > 0)
  end)

  -- In a process of its own: the code of others can't be had afresh.
  it("isn't made of what a program has turned off", function ()
    local said, status = testing.script([[
      local basic = require("apps.basic.basic_apps")
      local tried = false
      local function off() for _ = 1, 200 do end end
      jit.off(off)
      require("core.watch.health").listen(function (what, _, func)
        tried = tried or what == "start" and func == off
      end)
      local Off = {new = function () return {push = off, pull = off} end}
      for _ = 1, 3 do
        local c = config.new()
        config.app(c, "off", Off)
        config.app(c, "source", basic.Source)
        config.link(c, "source.output -> off.input")
        engine.configure(c)
        for _ = 1, 100 do engine.breathe() end
        engine.configure(config.new())
      end
      for _ = 1, 200 do off() end
      print(tried)]])
    assert.equal("false\n", said)
    assert.equal(0, status)
  end)

  it("is kept while there isn't", function ()
    regions.run(apps, links)
    local traces = breathe()
    afresh.MOST_TRACES = traces + 1000
    regions.run(apps, links)
    assert.is_true(health.traces_alive >= traces)
  end)
end)
