-- SPDX-License-Identifier: Apache-2.0
-- (core.fuse.garbage_spec runs after thousands of graphs, too.)

local C = require("core.native")
local jit_reset = require("core.engine.jit_reset")
local config = require("core.config")
local engine = require("core.app")
local health = require("core.watch.health")
local regions = require("testing.regions")
local testing = require("testing.support")

describe("compiled code", function ()
  local most = jit_reset.MOST_TRACES
  after_each(function ()
    jit_reset.MOST_TRACES = most
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
      assert.is_true(health.traces_alive < 10) -- this spec's own may be made already
    end
    assert.is_true(breathe() > 0)
    jit_reset.MOST_TRACES = 1
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

  -- All apps that aren't fused are called by one loop. Of its traces, the way to other
  -- apps is given up while one runs that can't be compiled.
  it("is made again where another graph's app couldn't be compiled", function ()
    local said, status = testing.script([[
      local basic = require("apps.basic.basic_apps")
      local health = require("core.watch.health")
      local pool = require("core.pool")
      engine.fuse = false
      local function run(process, breaths)
        local c = config.new()
        config.app(c, "source", basic.Source)
        config.app(c, "a", {new = function () return {process = process} end})
        config.app(c, "sink", basic.Sink)
        config.link(c, "source.output -> a.input")
        config.link(c, "a.output -> sink.input")
        engine.configure(c)
        for _ = 1, breaths do engine.breathe() end
      end
      local function ended() return tonumber(pool.freelist.frees) end
      local function first(_, p) return p end
      local function never(_, p)
        local f = function () return p end
        return (f())
      end
      local function last(_, p) return p, 1 end
      run(first, 300)
      run(never, 300)
      local given_up = false
      for _, event in ipairs(health.events()) do
        given_up = given_up or event.kind == "interpreter"
      end
      print(given_up)
      run(last, 2000) -- LuaJIT tries again after waits that chance decides
      collectgarbage()
      collectgarbage("stop")
      local before, heap = ended(), collectgarbage("count")
      for _ = 1, 1000 do engine.breathe() end
      local bytes = 1024 * (collectgarbage("count") - heap) / (ended() - before)
      print(bytes < 8 or bytes)]])
    assert.equal("true\ntrue\n", said)
    assert.equal(0, status)
  end)

  it("is kept while there isn't", function ()
    regions.run(apps, links)
    local traces = breathe()
    jit_reset.MOST_TRACES = traces + 1000
    regions.run(apps, links)
    assert.is_true(health.traces_alive >= traces)
  end)

  it("lets LuaJIT try less often for a second after an exchange", function ()
    local asked, start = {}, jit.opt.start
    jit.opt.start = function (...) -- luacheck: ignore
      asked[#asked + 1] = (...)
      start(...)
    end
    local ok, err = pcall(function ()
      jit_reset.tend(false)
      jit_reset.look(C.pg_now())
      assert.same({}, asked)
      jit_reset.tend(true)
      local now = C.pg_now()
      jit_reset.look(now + 0.5)
      assert.same({"tryside=4"}, asked)
      jit_reset.look(now + 1.1)
      jit_reset.look(now + 2)
      assert.same({"tryside=4", "tryside=32"}, asked)
    end)
    jit.opt.start = start -- luacheck: ignore
    assert(ok, err)
  end)
end)
