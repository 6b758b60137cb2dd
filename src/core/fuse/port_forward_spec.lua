-- SPDX-License-Identifier: Apache-2.0

local Port = require("apps.port.port").Port
local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local taps = require("lib.control.taps")

local RING = 1023 -- packets that a ring port holds

local function configure(from, to, more)
  local c = config.new()
  config.app(c, "from", Port, from)
  config.app(c, "to", Port, to)
  config.link(c, "from.output -> to.input")
  if more then more(c) end
  engine.configure(c)
  return engine.app_table
end

describe("core.fuse.direct_links.forward", function ()
  after_each(function () engine.configure(config.new()) end)

  it("passes bursts on, up to four in a breath, past the link", function ()
    local app = configure("null:size=60", "null")
    assert.same({"to"}, engine.calls().pulls) -- which has nothing to receive into
    engine.breathe()
    assert.equal(1024, tonumber(app.from.port.rxpackets))
    assert.equal(1024, tonumber(app.to.port.txpackets))
    local stats = link.stats(app.to.input.input)
    assert.same({1024, 1024, 61440, 61440, 0}, {stats.rxpackets, stats.txpackets,
      stats.rxbytes, stats.txbytes, stats.txdrop})
  end)

  it("lets what isn't taken wait in the link, and loses nothing", function ()
    local app = configure("null:size=60", "ring:straight", function (c)
      config.app(c, "there", Port, "ring:straight")
    end)
    local dropped = account.packets(engine.link_table).port_drops
    for _ = 1, 20 do engine.breathe() end
    local l = app.to.input.input
    assert.equal(RING, tonumber(app.to.port.txpackets))
    assert.is_true(link.nreadable(l) > 1023 - 32)
    local sums = account.packets(engine.link_table)
    assert.equal(link.nreadable(l), sums.in_links)
    assert.equal(tonumber(app.from.port.rxpackets), RING + link.nreadable(l))
    assert.same({0, dropped}, {link.stats(l).txdrop, sums.port_drops})
  end)

  it("leaves ports alone whose app does otherwise", function ()
    local Deaf = setmetatable({}, {__index = Port})
    Deaf.__index = Deaf
    function Deaf:new(arg) return setmetatable(Port:new(arg), Deaf) end
    for _, method in ipairs{"pull", "push"} do
      Deaf.pull, Deaf.push = nil, nil
      Deaf[method] = false
      local c = config.new()
      config.app(c, "port", Deaf, "null")
      config.link(c, "port.output -> port.input")
      engine.configure(c)
      engine.breathe()
      assert.equal(0, tonumber(engine.app_table.port.port.txpackets))
    end
  end)

  it("leaves the port's other links to it", function ()
    local app = configure("null:size=60", "null", function (c)
      config.app(c, "sink", basic.Sink)
      config.app(c, "other", Port, "null")
      config.app(c, "tee", basic.Tee)
      config.link(c, "other.output -> tee.input")
      config.link(c, "tee.a -> to.input2")
      config.link(c, "tee.b -> sink.input")
    end)
    assert.same({"other", "to"}, engine.calls().pulls)
    engine.breathe()
    assert.equal(tonumber(app.to.port.txpackets),
      tonumber(app.from.port.rxpackets + app.other.port.rxpackets))
  end)

  it("shows taps all packets, and loses none when they come and go", function ()
    local app, seen = configure("null:size=60", "null"), 0
    local tap = {wants = function () return true end, seen = function () end,
      lost = function () end, kept = function () end, after = function () end}
    function tap:burst(spec, _, n)
      assert.equal("from.output -> to.input", spec)
      seen = seen + n
    end
    for _ = 1, 3 do engine.breathe() end
    local before = tonumber(app.to.port.txpackets)
    taps.attach(tap)
    for _ = 1, 3 do engine.breathe() end
    taps.detach(tap)
    local during = tonumber(app.to.port.txpackets) - before
    assert.is_true(during > 0)
    assert.equal(during, seen)
    engine.breathe()
    local l = app.to.input.input
    assert.equal(0, link.nreadable(l))
    assert.equal(app.from.port.rxpackets, app.to.port.txpackets)
    assert.equal(tonumber(app.to.port.txpackets), link.stats(l).rxpackets)
  end)

  it("does both ways between two ports", function ()
    configure("null:size=60", "null:size=64", function (c)
      config.link(c, "to.output -> from.input")
    end)
    local app = engine.app_table
    engine.breathe()
    assert.equal(tonumber(app.from.port.rxpackets), tonumber(app.to.port.txpackets))
    assert.equal(tonumber(app.to.port.rxbytes or 0), tonumber(app.from.port.rxbytes))
    assert.equal(app.to.port.rxpackets, app.from.port.txpackets)
    assert.is_true(app.from.port.txpackets >= 256)
  end)
end)
