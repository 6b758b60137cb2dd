-- SPDX-License-Identifier: Apache-2.0
-- Generator and Meter, joined by links of a running engine.

local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local main = require("core.main")
local packet = require("core.packet")
local testing = require("testing.support")
local Generator = require("apps.generate.generator").Generator
local Meter = require("apps.generate.meter").Meter

-- Passes packets on in an order of its own: `order(i, held)` gets the number of the
-- packet and a list to send.
local Mangler = {}
Mangler.__index = Mangler

function Mangler:new(order) return setmetatable({order = order, i = 0}, self) end

function Mangler:push()
  for _ = 1, link.nreadable(self.input.input) do
    local p = link.receive(self.input.input)
    local sent = {}
    self.order(self.i, p, function (q) sent[#sent + 1] = q end)
    for _, q in ipairs(sent) do link.transmit(self.output.output, q) end
    self.i = self.i + 1
  end
end

-- The figures of `arg.count` packets that went through a mangler.
local function through(arg, order, meter)
  local c = config.new()
  config.app(c, "generator", Generator, arg)
  config.app(c, "mangler", Mangler, order)
  config.app(c, "meter", Meter, meter or {stack = arg.stack})
  config.link(c, "generator.output -> mangler.input")
  config.link(c, "mangler.output -> meter.input")
  engine.configure(c)
  local apps = engine.app_table
  while not apps.generator:done() do engine.breathe() end
  for _ = 1, 3 do engine.breathe() end
  local sent = apps.generator:figures()
  local got = apps.meter:figures(sent.numbered)
  engine.configure(config.new())
  return sent, got
end

local function straight(_, p, send) send(p) end

describe("apps.generate", function()
  after_each(function() engine.configure(config.new()) end)

  it("counts what was sent and received", function()
    local sent, got = through({count = 5000, size = "60,1514"}, straight)
    assert.are.equal(5000, sent.packets)
    assert.are.equal(2500 * (60 + 1514), sent.bytes)
    assert.are.equal(8 * 2500 * (84 + 1538), sent.bits)
    for _, key in ipairs{"packets", "bytes", "bits", "numbered"} do
      assert.are.equal(sent[key], got[key])
    end
    for _, key in ipairs{"lost", "duplicates", "reordered", "other", "unclear"} do
      assert.are.equal(0, got[key])
    end
    assert.are.equal(5000, got.latency.count)
    assert.is_true(got.latency.min > 0 and got.latency.min <= got.latency.median)
  end)

  it("counts loss, also of the last", function()
    local _, got = through({count = 1000}, function (i, p, send)
      if i % 10 == 3 or i == 999 then packet.free(p) else send(p) end
    end)
    assert.are.equal(101, got.lost)
    assert.are.equal(899, got.packets)
  end)

  it("counts duplicates and reordering", function()
    local waiting
    local _, got = through({count = 1000}, function (i, p, send)
      if i % 100 == 7 then
        send(p)
        send(packet.clone(p))
      elseif i % 100 == 50 then
        waiting = p
      else
        send(p)
        if waiting then
          send(waiting)
          waiting = nil
        end
      end
    end)
    assert.are.equal(10, got.duplicates)
    assert.are.equal(10, got.reordered)
    assert.are.equal(0, got.lost)
    assert.are.equal(1010, got.packets)
  end)

  it("knows other packets, and those of another clock", function()
    local _, got = through({count = 100}, function (i, p, send)
      if i < 10 then p.data[42] = 0 end -- no magic
      if i >= 10 and i < 12 then p.data[52] = 127 end -- a time far ahead
      if i >= 12 and i < 15 then p.data[52] = 255 end -- or far back
      if i >= 15 and i < 20 then p.length = 59 end
      send(p)
    end)
    assert.are.equal(15, got.other)
    assert.are.equal(85, got.numbered)
    assert.are.equal(5, got.unclear)
    assert.are.equal(80, got.latency.count)
  end)

  it("finds the record where it is told to", function()
    local _, got = through({count = 50, stack = "eth,ip6,tcp"}, straight, {offset = 74})
    assert.are.equal(50, got.numbered)
    _, got = through({count = 50, stack = "eth,ip6,tcp"}, straight, {offset = 42})
    assert.are.equal(50, got.other)
  end)

  it("sends nothing while it is held", function()
    local c = config.new()
    config.app(c, "generator", Generator, {held = true})
    config.app(c, "meter", Meter, {})
    config.link(c, "generator.output -> meter.input")
    engine.configure(c)
    local apps = engine.app_table
    for _ = 1, 5 do engine.breathe() end
    assert.are.equal(0, apps.generator:figures().packets)
    apps.generator:go()
    engine.breathe()
    assert.is_true(apps.generator:figures().packets > 0)
  end)

  it("makes up for nothing that was held", function()
    local now, engine_now = 50, engine.now
    rawset(engine, "now", function () return now end)
    local app, output = Generator:new{rate = "1kpps"}, link.new("generate_held")
    app.output = {output = output}
    app:link()
    local function sent_at(time)
      now = time
      app:pull()
      local n = link.nreadable(output)
      for _ = 1, n do packet.free(link.receive(output)) end
      return n
    end
    local counts = {sent_at(50), sent_at(50.0095)}
    app:hold()
    counts[3] = sent_at(55)
    now = 60
    app:go()
    counts[4], counts[5] = sent_at(60), sent_at(60.0095)
    app:hold()
    app:go()
    counts[6], counts[7] = sent_at(60.0095), sent_at(60.0101)
    link.free(output, "generate_held")
    assert.same({1, 9, 0, 1, 9, 0, 1}, counts)
    local f = app:figures()
    app:hold()
    now = 70
    app:go()
    assert.is_near(f.seconds, app:figures().seconds, 1e-9)
    app.count = app.state.sent
    app:hold()
    now = 80
    app:go()
    assert.is_near(f.seconds, app:figures().seconds, 1e-9)
    rawset(engine, "now", engine_now)
    assert.is_near(0.0196, f.seconds, 1e-9)
    assert.is_near(0.021, f.scheduled, 1e-9)
    assert.is_true(f.latest < 0.01, f.latest)
  end)

  it("refuses wrong arguments in a sentence", function()
    for pattern, arg in pairs{
      ["a Generator takes no 'sizes'"] = {sizes = "60"},
      ["'fast' isn't a rate such as"] = {rate = "fast"},
      ["arrivals are constant or poisson, not 'even'"] = {arrivals = "even"},
    } do
      local ok, err = pcall(Generator.new, Generator, arg)
      assert.is_false(ok)
      assert.matches(pattern, tostring(err), 1, true)
    end
    local ok, err = pcall(Meter.new, Meter, {offset = -1})
    assert.is_false(ok)
    assert.matches("a Meter's offset is a whole number", tostring(err), 1, true)
  end)

  it("has a README whose example runs", function()
    local file = assert(io.open(main.root .. "/src/apps/generate/README.md"))
    local code = file:read("*a"):match("```lua\n(.-)```")
    file:close()
    local said, status = testing.script(code)
    assert.are.equal("5000 of 5000 packets, 0 lost, 0 reordered\n", said)
    assert.are.equal(0, status)
  end)
end)
