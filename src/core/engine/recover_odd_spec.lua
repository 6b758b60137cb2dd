-- SPDX-License-Identifier: Apache-2.0
-- Going on after errors where more goes wrong: in new(), link() and stop(), in a
-- reconfiguration, in another app, with packets that are the app's no more.

local C = require("core.native")
local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local failing = require("testing.failing")
local link = require("core.link")
local packet = require("core.packet")
local regions = require("testing.regions")
local texts = require("testing.texts")

local breathe, forms, run, LINKS = failing.breathe, failing.forms, failing.run,
  failing.LINKS
local class, Pass = regions.class, regions.Pass
local held, send, take = texts.held, texts.send, texts.take

local ONE_OF_EACH = {error = 1, ["stopped for an error"] = 1}
local PATIENCE_SECONDS = 20

-- Breathe until f() says so.
local function breathe_until(f)
  local ends = C.pg_monotonic() + PATIENCE_SECONDS
  repeat breathe() until f() or C.pg_monotonic() > ends
end

describe("An app that failed", function ()
  local before, said
  before_each(function () before, said = failing.set_up() end)
  after_each(failing.tear_down)

  it("may have freed the packet it was given", function ()
    run(class{process = function (_, p)
      packet.free(p)
      error("freed")
    end}, "drop")
    send(LINKS[1], {"1", "2"})
    breathe(2)
    assert.same({["stopped for an error"] = 1}, engine.drops("bad"))
    assert.equal(before, held())
  end)

  it("may have sent the packet it was given", function ()
    engine.fuse = false
    run(class{process = function (self, p)
      link.transmit(self.output.output, p)
      error("sent")
    end}, "drop")
    send(LINKS[1], {"1", "2"})
    breathe(2)
    assert.same({"1"}, take(LINKS[4]))
    assert.same({["stopped for an error"] = 1}, engine.drops("bad"))
    assert.equal(before, held())
  end)

  it("may keep the packet it was given, and free it in stop()", function ()
    local bad = {process = function (self, p)
      self.kept = p
      error("kept")
    end, stop = function (self) packet.free(self.kept) end}
    run(class(bad), "drop")
    send(LINKS[1], {"1", "2"})
    breathe(2)
    assert.same({["stopped for an error"] = 1}, engine.drops("bad"))
    assert.equal(before, held())
  end)

  it("may have lost a packet of its burst", function ()
    run(class{process_burst = function (_, packets)
      packet.free(packets[1])
      packets[1] = nil
      error("lost one")
    end}, "drop")
    send(LINKS[1], {"1", "2", "3"})
    breathe(2)
    assert.same({error = 2}, engine.drops("bad"))
    assert.equal(before, held())
  end)

  for method, first in pairs{new = 1, link = 2} do
    local what = ("whose %s() fails is tried again, and its packets dropped"):format(
      method)
    it(what, function ()
      local bad, times = forms().process, 0
      local inner = bad[method]
      bad[method] = function (...)
        times = times + 1
        if times > first and times < first + 3 then error("not yet") end
        return inner(...)
      end
      run(bad, "restart")
      send(LINKS[1], {"!", "lost"})
      breathe(2)
      assert.same(ONE_OF_EACH, engine.drops("bad"))
      breathe_until(function () return said():match("runs again") end)
      assert.matches("in " .. method .. "%(%): [^\n]*not yet", said())
      send(LINKS[1], {"found"})
      breathe()
      assert.same({"found"}, take(LINKS[4]))
      assert.equal(before, held())
    end)
  end

  it("is tried again only so often, if its new() fails", function ()
    local bad, times = forms().process, 0
    local new = bad.new
    function bad:new()
      times = times + 1
      if times > 1 then error("never") end
      return new(self)
    end
    run(bad, "restart", {times = 3, seconds = 100})
    send(LINKS[1], {"!"})
    local _, err = pcall(breathe_until, function () return false end)
    assert.matches("^app 'bad': it isn't started again, as it was 3 times within 100 "
      .. "s; its last error: app 'bad': in new%(%): .*never$", tostring(err))
    assert.equal(4, times)
    breathe(10)
    assert.equal(4, times)
  end)

  it("goes, whatever its stop() raises", function ()
    local bad = forms().process
    function bad.stop() error({}) end
    run(bad, "drop")
    send(LINKS[1], {"!", "2"})
    breathe(2)
    assert.same(ONE_OF_EACH, engine.drops("bad"))
    assert.matches("in stop%(%): an error that is no text: table", said())
  end)

  it("may have changed the configuration in that breath", function ()
    run(class{process = function ()
      local c = config.copy(engine.configuration)
      config.app(c, "more", Pass)
      engine.configure(c)
      error("and now this")
    end}, "drop")
    send(LINKS[1], {"1", "2"})
    breathe()
    assert.is_table(engine.app_table.more)
    breathe()
    assert.same(ONE_OF_EACH, engine.drops("bad"))
    assert.equal(before, held())
  end)

  it("comes back when the program gives it another argument", function ()
    local bad = forms().process
    run(bad, "drop")
    send(LINKS[1], {"!"})
    breathe()
    run(bad, "drop") -- the same
    send(LINKS[1], {"lost"})
    breathe()
    local c = config.copy(engine.configuration)
    c.apps.bad.arg = "another"
    engine.configure(c)
    send(LINKS[1], {"found"})
    breathe()
    assert.same({"found"}, take(LINKS[4]))
    assert.equal(1, engine.errors("bad").raised)
  end)

  it("may bring another to fail, whose packets move as regions change", function ()
    -- The link from a push app to `b` has a ring. When a stand-in is fused with `b`,
    -- what is in it is moved on, which raises an error in `b`.
    local bad = {push = function (self)
      link.transmit(self.output.output, link.receive(self.input.i))
      error("after one")
    end}
    local c = regions.configuration({a = {Pass}, bad = {class(bad)},
      b = {class{process = function () error("b too") end}}}, LINKS)
    config.on_error(c, "bad", "drop")
    config.on_error(c, "b", "drop")
    engine.configure(c)
    send(LINKS[1], {"1", "2"})
    breathe(3)
    assert.same({["stopped for an error"] = 1}, engine.drops("bad"))
    assert.equal(1, engine.errors("b").raised)
    assert.equal(0, link.nreadable(engine.link_table[LINKS[3]]))
  end)

  local POLICIES, FORMS = {"restart", "bypass", "drop"}, {"process", "process_burst"}

  -- An app that raises an error for one packet or burst in `rate`.
  local function unreliable(rate)
    local form = FORMS[math.random(#FORMS)]
    local bad = forms()[form]
    local inner = bad[form]
    bad[form] = function (...)
      if math.random(rate) == 1 then error("now and then") end
      return inner(...)
    end
    return bad
  end

  local seed = os.time()
  it(("loses no packet in sum, in random chains #slow (seed %d)"):format(seed),
  function ()
    math.randomseed(seed)
    for _ = 1, 20 do
      local c, from = config.new(), "source"
      config.app(c, "source", basic.Source, 60)
      for i = 1, math.random(6) do
        local name, policy = "app" .. i, POLICIES[math.random(#POLICIES)]
        config.app(c, name, unreliable(math.random(500)))
        config.on_error(c, name, policy, policy == "restart" and {times = 1e6} or nil)
        config.link(c, ("%s.output -> %s.i"):format(from, name))
        from = name
      end
      config.app(c, "sink", basic.Sink)
      config.link(c, from .. ".output -> sink.input")
      engine.configure(c)
      breathe(30)
      local a = account.packets(engine.link_table)
      assert.equal(before + 1, a.held) -- the source's
      local dropped = 0
      for name in pairs(c.apps) do
        for _, n in pairs(engine.drops(name)) do dropped = dropped + n end
      end
      for _, l in pairs(engine.link_table) do
        dropped = dropped + link.stats(l).txdrop
      end
      local last = link.stats(engine.link_table[from .. ".output -> sink.input"])
      assert.equal(30 * engine.pull_npackets, last.rxpackets + dropped + a.in_links)
      engine.configure(config.new())
    end
  end)
end)
