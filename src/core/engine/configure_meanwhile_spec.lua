-- SPDX-License-Identifier: Apache-2.0
-- engine.configure_meanwhile: packets pass while a change is prepared.

local config = require("core.config")
local engine = require("core.app")
local engine_graph = require("core.engine.graph")
local link = require("core.link")
local packet = require("core.packet")
local shm = require("core.shm")

local LANES, BURST = 20, 4

local sent, got = 0, 0

local Source = {}
function Source.new() return setmetatable({}, {__index = Source}) end
function Source:pull()
  for _ = 1, BURST do
    link.transmit(self.output.output, packet.from_string(("x"):rep(60)))
    sent = sent + 1
  end
end

local Sink = {}
function Sink.new() return setmetatable({}, {__index = Sink}) end
function Sink:push()
  for _ = 1, link.nreadable(self.input.input) do
    packet.free(link.receive(self.input.input))
    got = got + 1
  end
end

local Pass = {process = function (_, p) return p end}
function Pass.new() return setmetatable({}, {__index = Pass}) end

-- Takes its time to start, as apps with large tables do, or doesn't start.
local stopped = 0
local Slow = {process = Pass.process}
function Slow:new(arg)
  if arg == "fail" then error("no such table", 0) end
  return setmetatable({arg = arg}, {__index = self})
end
function Slow.stop() stopped = stopped + 1 end

-- Lanes of four apps; what `extra` says is behind the first.
local function graph(extra)
  local c = config.new()
  for i = 1, LANES do
    local last = "b" .. i
    for name, class in pairs{["source" .. i] = Source, ["a" .. i] = Pass, [last] = Pass,
                             ["sink" .. i] = Sink} do
      config.app(c, name, class)
    end
    config.link(c, ("source%d.output -> a%d.input"):format(i, i))
    config.link(c, ("a%d.output -> b%d.input"):format(i, i))
    if i == 1 and extra then
      config.app(c, "extra", Slow, extra)
      config.link(c, "b1.output -> extra.input")
      last = "extra"
    end
    config.link(c, ("%s.output -> sink%d.input"):format(last, i))
  end
  return c
end

local function waiting()
  local n = 0
  for _, l in pairs(engine.link_table) do n = n + link.nreadable(l) end
  return n
end

local function region_with(name)
  for _, r in ipairs(engine.regions) do
    for _, app in ipairs(r.description.apps) do
      if app == name then return r end
    end
  end
end

describe("A change that is prepared while packets pass", function ()
  before_each(function ()
    sent, got, stopped = 0, 0, 0
    engine.configure(graph())
    engine.breathe()
  end)

  after_each(function () engine.stop() end)

  it("lets breaths happen, and loses nothing", function ()
    for round = 1, 6 do
      local before = sent
      engine.configure_meanwhile(graph(round % 2 == 1 and "x" or nil))
      assert.is_true(sent > before, "no breath in round " .. round)
      assert.equal(round % 2 == 1, engine.app_table.extra ~= nil)
      engine.breathe()
      assert.equal(sent, got)
    end
    assert.equal(0, waiting())
  end)

  it("counts on where it went on", function ()
    local before = sent
    engine.configure_meanwhile(graph("x"))
    engine.breathe()
    local stats = link.stats(engine.link_table["b1.output -> extra.input"])
    local whole = link.stats(engine.link_table["a1.output -> b1.input"])
    assert.equal(sent / LANES, tonumber(whole.rxpackets))
    assert.is_true(stats.rxpackets > 0 and stats.rxpackets < sent / LANES)
    assert.is_true(sent > before)
    assert.equal(stats.rxpackets * 60, tonumber(stats.rxbytes))
  end)

  it("keeps regions that it doesn't concern", function ()
    local kept, replaced = region_with("a2"), region_with("a1")
    engine.configure_meanwhile(graph("x"))
    assert.equal(kept, region_with("a2"))
    assert.not_equal(replaced, region_with("a1"))
    assert.same({"a1", "b1", "extra", "sink1"}, region_with("a1").description.apps)
  end)

  it("leaves the old graph if an app doesn't start", function ()
    local c = graph("x")
    config.app(c, "wrong", Slow, "fail")
    config.link(c, "source1.more -> wrong.input")
    local before = {regions = #engine.regions, sent = sent}
    assert.has_error(function () engine.configure_meanwhile(c) end)
    assert.is_nil(engine.app_table.extra)
    assert.is_nil(engine.app_table.wrong)
    assert.equal(1, stopped) -- extra
    assert.equal(before.regions, #engine.regions)
    engine.breathe()
    assert.is_true(sent > before.sent)
    assert.equal(sent, got)
    engine.configure(graph("x")) -- links of the same names can be made
    engine.breathe()
    assert.equal(sent, got)
  end)

  it("leaves the old graph if an app raises an error meanwhile", function ()
    local app = engine.app_table.source3
    function app.pull() error("no more", 0) end
    assert.has_error(function () engine.configure_meanwhile(graph("x")) end)
    app.pull = nil
    assert.is_nil(engine.app_table.extra)
    engine.breathe()
    assert.equal(sent, got)
  end)

  it("lets apps configure meanwhile: at the end of the next breath", function ()
    local app, third = engine.app_table.source2, nil
    function app.pull(self)
      if not third then
        third = graph("y")
        engine.configure(third)
      end
      Source.pull(self)
    end
    engine.configure_meanwhile(graph("x"))
    assert.equal("x", engine.app_table.extra.arg)
    engine.breathe()
    assert.equal("y", engine.app_table.extra.arg)
    engine.breathe()
    assert.equal(sent, got)
  end)

  it("tells when the exchange begins: from then on packets wait", function ()
    local told
    engine.configure_meanwhile(graph("x"), function ()
      told = sent
      assert.is_nil(engine.app_table.extra)
    end)
    assert.truthy(engine.app_table.extra)
    assert.equal(told, sent)
    told = nil
    local c = graph("x")
    config.app(c, "wrong", Slow, "fail")
    config.link(c, "source1.more -> wrong.input")
    assert.has_error(function ()
      engine.configure_meanwhile(c, function () told = true end)
    end)
    assert.is_nil(told)
  end)

  it("removes the counters of links that went once packets pass again", function ()
    local spec = "b1.output -> sink1.input"
    local function listed()
      return table.concat(shm.children("links"), "\n"):find(spec, 1, true) ~= nil
    end
    engine.configure_meanwhile(graph("x"))
    assert.is_true(listed())
    engine_graph.clear_up(0)
    assert.is_true(listed())
    engine.main{duration = 0.05, no_report = true}
    assert.is_false(listed())

    engine.configure_meanwhile(graph())
    engine.configure_meanwhile(graph("x"))
    engine.configure_meanwhile(graph()) -- with another link of that name
    engine.main{duration = 0.05, no_report = true}
    assert.is_true(listed())
    engine.breathe()
    assert.equal(sent, got)
  end)

  it("happens at once for those who don't ask", function ()
    local before = sent
    engine.configure(graph("x"))
    assert.equal(before, sent)
  end)
end)
