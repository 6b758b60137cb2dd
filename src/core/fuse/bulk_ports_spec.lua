-- SPDX-License-Identifier: Apache-2.0

local Port = require("apps.port.port").Port
local basic = require("apps.basic.basic_apps")
local direct_links = require("core.fuse.direct_links")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local taps = require("lib.control.taps")

-- Sends every other packet by `odd`.
local Halve = {outputs = {"even", "odd"}}
Halve.__index = Halve
function Halve.new() return setmetatable({}, Halve) end
function Halve.process_burst(_, _, n, route)
  for i = 0, n - 1 do route[i] = 1 + i % 2 end
end

local function configure()
  local c = config.new()
  config.app(c, "in", Port, "null:size=60")
  config.app(c, "halve", Halve)
  config.app(c, "out", Port, "null")
  config.app(c, "sink", basic.Sink)
  config.link(c, "in.output -> halve.input")
  config.link(c, "halve.even -> out.input")
  config.link(c, "halve.odd -> sink.input")
  engine.configure(c)
end

describe("core.fuse.direct_links.of_bulk", function ()
  after_each(function () engine.configure(config.new()) end)

  it("has bulk apps receive from ports and send to them, past the links", function ()
    configure()
    assert.same({"out"}, engine.calls().pulls) -- which has nothing to receive into
    engine.breathe()
    local app = engine.app_table
    local received = tonumber(app["in"].port.rxpackets)
    assert.is_true(received >= 256)
    assert.equal(received / 2, tonumber(app.out.port.txpackets))
    local into, odd = app.halve.input.input, app.halve.output.odd
    assert.equal(received, link.stats(into).rxpackets)
    assert.equal(received * 60, link.stats(into).rxbytes)
    assert.equal(received / 2, link.stats(app.halve.output.even).txpackets)
    assert.equal(received / 2, link.stats(odd).txpackets)
  end)

  it("takes several bursts in a breath, as many as fit into its links", function ()
    configure()
    for _ = 1, 20 do engine.breathe() end
    local app = engine.app_table
    assert.equal(0, tonumber(app.halve.output.odd.txdrop))
    assert.equal(20 * 4 * 256, tonumber(app["in"].port.rxpackets))
  end)

  it("lets taps see all packets, and loses none when they come and go", function ()
    configure()
    local app, seen = engine.app_table, {}
    local tap = {wants = function () return true end, seen = function () end,
      lost = function () end, kept = function () end, after = function () end}
    function tap.burst(_, spec, _, n) seen[spec] = (seen[spec] or 0) + n end
    for _ = 1, 3 do engine.breathe() end
    local before = tonumber(app["in"].port.rxpackets)
    taps.attach(tap)
    for _ = 1, 5 do engine.breathe() end
    local into, waiting = app.halve.input.input, link.nreadable(app.halve.input.input)
    local passed = tonumber(app["in"].port.rxpackets) - before - waiting
    assert.is_true(passed >= 4 * 256)
    assert.same({["in.output -> halve.input"] = passed,
      ["halve.even -> out.input"] = passed / 2,
      ["halve.odd -> sink.input"] = passed / 2}, seen)
    taps.detach(tap)
    for _ = 1, 3 do engine.breathe() end
    assert.equal(tonumber(app["in"].port.rxpackets), link.stats(into).rxpackets)
    assert.equal(link.stats(into).rxpackets / 2, tonumber(app.out.port.txpackets))
  end)

  it("leaves ports alone that have other links, and where nothing is fused", function ()
    local port, other = {}, {}
    local apps = {["in"] = {direct = {}, port = port}, halve = Halve.new(),
      out = {direct = {}, port = other}, idle = {}}
    local links = {["in.output -> halve.input"] = "a", ["in.tx -> idle.x"] = "b",
      ["halve.even -> out.input"] = "c", ["halve.odd -> out.input2"] = "d"}
    local ports, fetched = direct_links.of_bulk(apps, links, true)
    assert.same({c = other, d = other}, ports)
    assert.same({}, fetched)
    assert.same({}, (direct_links.of_bulk(apps, links, false)))
  end)
end)
