-- SPDX-License-Identifier: Apache-2.0

local C = require("core.native")
local config = require("core.config")
local engine = require("core.app")
local basic = require("apps.basic.basic_apps")
local Cycles = require("apps.load.cycles").Cycles
local Port = require("apps.port.port").Port
local testing = require("testing.support")

-- The median of the app's error over so many calibrations, each measured anew: the
-- machine may be busy during some.
local function median_error(cycles)
  local app, errors = Cycles:new(cycles), {}
  for i = 1, 9 do
    app:calibrate()
    errors[i] = math.abs(app:error())
  end
  table.sort(errors)
  return errors[5]
end

describe("apps.load.cycles", function ()
  after_each(function () engine.stop() end)

  for _, cycles in ipairs{100, 300, 1000, 3000, 10000} do
    it(("takes %d cycles, within 2 %%"):format(cycles), function ()
      assert.is_true(testing.near(0, 0.02, function ()
        return median_error(cycles)
      end))
    end)
  end

  it("takes what is asked for by packet, in a graph #slow", function ()
    local c = config.new()
    config.app(c, "source", basic.Source)
    config.app(c, "load", Cycles, {cycles = 5000})
    config.app(c, "sink", basic.Sink)
    config.link(c, "source.output -> load.input")
    config.link(c, "load.output -> sink.input")
    engine.configure(c)
    local link = require("core.link")
    local l = engine.link_table["source.output -> load.input"]
    local function cycles_a_packet()
      local began, cpu = link.stats(l).rxpackets, C.pg_thread_cpu_seconds()
      engine.busywait = true
      engine.main{duration = 0.2, no_report = true}
      engine.busywait = false
      return (C.pg_thread_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz())
        / (link.stats(l).rxpackets - began)
    end
    -- A source and a sink take tens of cycles, 250 at most; CPU time has interrupts.
    assert.is_true(testing.near(0, 0.1, function ()
      return (cycles_a_packet() - 250) / 5000 - 1
    end))
  end)

  it("takes next to nothing when 0 is asked for", function ()
    local app = Cycles:new(0)
    assert.equal(0, app.additions)
    assert.equal(0, app:error())
    assert.is_true(app:takes() < Cycles:new(1):takes())
  end)

  it("adds what is asked for to a graph that was compiled without #slow", function ()
    local c = config.new()
    config.app(c, "port", Port, {port = "null", burst = 32})
    config.app(c, "load", Cycles, 0)
    config.link(c, "port.output -> load.input")
    config.link(c, "load.output -> port.input")
    engine.configure(c)
    local load, device = engine.app_table.load, engine.app_table.port.port
    local function cycles_a_packet(cycles)
      load.cycles, load.additions = cycles, 0
      load:track()
      local packets, cpu = device.txpackets, C.pg_thread_cpu_seconds()
      engine.main{duration = 0.02, no_report = true}
      return (C.pg_thread_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz())
        / tonumber(device.txpackets - packets)
    end
    engine.busywait = true
    finally(function () engine.busywait = false end)
    for _ = 1, 10 do cycles_a_packet(0) end
    assert.is_true(testing.near(1, 0.06, function ()
      local without = cycles_a_packet(0)
      return (cycles_a_packet(200) - without) / 200
    end))
  end)

  it("says how far off it is where too few cycles are asked for", function ()
    local app = Cycles:new(1)
    assert.equal(1, app.additions)
    assert.is_true(app:error() > 1)
  end)

  it("refuses what isn't a number of cycles", function ()
    for _, arg in ipairs{"many", -1, 1e9, {}, {cycles = "x"}} do
      assert.has_error(function () Cycles.check_arg(arg) end)
    end
    local _, err = pcall(Cycles.check_arg, "many")
    assert.equal("apps.load.cycles takes the cycles for each packet, a number from 0 "
      .. "to 10000000, not 'many'", tostring(err))
  end)
end)
