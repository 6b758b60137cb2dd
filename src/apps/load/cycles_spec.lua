-- SPDX-License-Identifier: Apache-2.0

local C = require("core.native")
local config = require("core.config")
local engine = require("core.app")
local basic = require("apps.basic.basic_apps")
local Cycles = require("apps.load.cycles").Cycles
local Port = require("apps.port.port").Port

-- A machine whose core makes so many cycles for one of the TSC, 40 of them for a call.
local function machine(core_per_tsc)
  return {
    pg_core_per_tsc = function () return core_per_tsc end,
    pg_spin_cycles = function (additions) return (additions + 40) / core_per_tsc end,
  }
end

local PACKETS = 10000 -- for a figure

-- The least of ten figures: whatever else the machine does only adds to them.
local function least(measure, ...)
  local found = math.huge
  for _ = 1, 10 do found = math.min(found, measure(...)) end
  return found
end

describe("apps.load.cycles", function ()
  after_each(function () engine.stop() end)

  it("takes what is asked for, on cores of any speed, and follows theirs", function ()
    finally(function () Cycles.C = C end)
    for _, cycles in ipairs{100, 300, 1000, 3000, 10000} do
      Cycles.C = machine(1)
      local app = Cycles:new(cycles)
      for _, speed in ipairs{1, 0.7, 1.3} do
        Cycles.C = machine(speed)
        app:track()
        assert.is_true(math.abs(app:takes() - cycles) <= 0.5 / speed + 1e-6)
        assert.near(app:takes() / cycles - 1, app:error(), 1e-9)
      end
    end
  end)

  it("takes longer with more additions", function ()
    local few, many = Cycles:new(0), Cycles:new(0)
    few.additions, many.additions = 1000, 10000
    assert.is_true(many:takes() > 3 * few:takes())
  end)

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
      engine.main{no_report = true, done = function ()
        return link.stats(l).rxpackets - began >= PACKETS
      end}
      engine.busywait = false
      return (C.pg_thread_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz())
        / (link.stats(l).rxpackets - began)
    end
    local found = least(cycles_a_packet)
    assert.is_true(found > 0.8 * 5000 and found < 1.8 * 5000, found) -- once
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
      engine.main{no_report = true, done = function ()
        return device.txpackets - packets >= PACKETS
      end}
      return (C.pg_thread_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz())
        / tonumber(device.txpackets - packets)
    end
    engine.busywait = true
    finally(function () engine.busywait = false end)
    local found = least(cycles_a_packet, 2000) - least(cycles_a_packet, 0)
    assert.is_true(found > 0.8 * 2000 and found < 1.8 * 2000, found)
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
