-- SPDX-License-Identifier: Apache-2.0
-- The end of a run of generate, by a clock and an engine that are simulated: the
-- process is stopped while packets are under way, and all of them wait in the port.

local course = require("program.generate.course")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")

describe("what is still under way when generate has sent all", function ()
  local SENT, STEP_S = 7, 1e-4
  local now, original, apps, meter, generator

  before_each(function ()
    now = 100
    original = {main = engine.main, now = engine.now, breathe = engine.breathe,
                app_table = engine.app_table}
    meter = {tally = {packets = 0}, sequence = {duplicates = 0}}
    generator = {state = {sent = SENT}, sink = link.new("course_spec"),
                 go = function () end, hold = function () end,
                 done = function () return true end}
    for _, app in ipairs{meter, generator} do
      app.progress = function () return 0, 0, 0 end
    end
    apps = {meter = meter, generator = generator}
    rawset(engine, "app_table", apps)
    rawset(engine, "now", function () return now end)
  end)
  after_each(function ()
    for name, f in pairs(original) do rawset(engine, name, f) end
    link.free(generator.sink, "course_spec")
  end)

  -- Sends what it has sent; each breath before it is over does what happens() says.
  local function run(happens, options)
    local breaths, began = 0, now
    local function breathe()
      breaths, now = breaths + 1, now + STEP_S
      assert(breaths < 1e5, "it goes on for ever")
      happens()
    end
    rawset(engine, "breathe", breathe)
    rawset(engine, "main", function (given)
      repeat breathe() until given.done()
    end)
    local lane = {generator = "generator", meter = "meter", stream = {}}
    local run_of = course.new{{port = options.port, receive = "b", lanes = {lane},
                               gone = {}}}
    run_of.parts.sources = {}
    assert.same({true}, {(run_of:run(options, io.tmpfile()))})
    return now - began
  end

  local function receive() meter.tally.packets = meter.tally.packets + 1 end

  it("is taken, however long the process was stopped", function ()
    local stopped = false
    run(function ()
      if not stopped then now, stopped = now + 60, true end
      if meter.tally.packets < SENT then receive() end
    end, {port = "a"})
    assert.equal(SENT, meter.tally.packets)
  end)

  it("is waited for half a second", function ()
    assert.near(0.5, run(function () end, {port = "a"}), 0.01)
    meter.tally.packets = 0
    assert.near(0.1, run(function () end, {port = "a", idle = 0.1}), 0.01)
  end)

  it("is taken by ports that were slow", function ()
    local p = packet.from_string("x")
    link.transmit(generator.sink, p)
    local stopped = false
    run(function ()
      if not stopped then now, stopped = now + 60, true return end
      local sink = generator.sink
      if not link.empty(sink) then packet.free(link.receive(sink)) end
      meter.tally.packets = SENT
    end, {port = "a"})
    assert.is_true(link.empty(generator.sink))
  end)

  it("is waited for where nothing is sent", function ()
    local stopped = false
    run(function ()
      if meter.tally.packets == 1 and not stopped then now, stopped = now + 60, true end
      if meter.tally.packets < SENT then receive() end
    end, {idle = 0.2})
    assert.equal(SENT, meter.tally.packets)
  end)
end)
