-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.support")

-- A null port through two apps of known cost, with links between. Prints what the
-- engine's account says, and CPU time, TSC cycles a packet.
local GRAPH = [[
  local C = require("core.native")
  local cycles_report = require("core.watch.cycles_report")
  local Cycles = require("apps.load.cycles").Cycles
  local Port = require("apps.port.port").Port
  local shm = require("core.shm")
  engine.fuse = ... ~= "apart"
  engine.busywait = ... ~= "sleeping"
  if ... == "sleeping" then engine.Hz = 1000 end
  local c = config.new()
  config.app(c, "port", Port, "null")
  config.app(c, "one", Cycles, 300)
  config.app(c, "two", Cycles, 900)
  config.link(c, "port.output -> one.input")
  config.link(c, "one.output -> two.input")
  config.link(c, "two.output -> port.input")
  engine.configure(c)
  local function spent()
    for _ = 1, 20 do -- where others use the CPU too, a run may be too short
      engine.main{duration = 0.3, no_report = true}
      local s = cycles_report.since()
      if s then return s end
    end
  end
  spent()
  for _ = 1, 5 do
    local s = spent()
    local names = {}
    for name in pairs(s.tasks) do names[#names + 1] = name end
    table.sort(names)
    print(("busy=%f cpu=%f sleep=%f tsc=%f io=%f one=%f two=%f both=%f"):format(
      s.busy, s.cpu, s.sleep, s.tsc, s.receive + s.send, s.tasks.one or -1,
      s.tasks.two or -1, s.tasks["one+1"] or -1), "names=" .. table.concat(names, ","))
  end
  local frame = shm.open_frame("engine/cycles")
  local whole = frame.receive.c + frame.send.c + frame.empty.c + frame.tasks.c
    + frame.engine.c
  local totals = require("core.watch.cycles").totals()
  local own = totals.receive + totals.send + totals.empty + totals.engine
  for _, spent in pairs(totals.tasks) do own = own + spent end
  print(("shm=%f own=%f hz=%f"):format(
    tonumber(whole) / tonumber(frame.packets.c), own / totals.packets,
    tonumber(frame.core_hz.c) / tonumber(frame.tsc_hz.c)))
  print("kept: " .. table.concat(shm.children("engine/cycles/tasks"), ","))]]

-- The five runs as tables of numbers, and the lines that follow.
local function measured(how)
  local said, status = testing.script(GRAPH, {}, {how})
  assert.equal(0, status, said)
  local runs = {}
  for line in said:gmatch("busy=[^\n]*") do
    local run = {names = line:match("names=(.*)")}
    for key, value in line:gmatch("(%w+)=([%d.-]+)") do run[key] = tonumber(value) end
    runs[#runs + 1] = run
  end
  assert.equal(5, #runs, said)
  return runs, said
end

-- Is f(run) of one of some runs within `tolerance` of 1? More are made of the graph, if
-- the machine was disturbed.
local function around_one(how, runs, tolerance, f)
  local at = 0
  assert.is_true(testing.near(1, tolerance, function ()
    at = at + 1
    if at > #runs then runs, at = measured(how), 1 end
    return f(runs[at])
  end))
end

describe("the account of cycles #slow", function ()
  it("has parts that add up to the CPU's time", function ()
    local runs = measured("apart")
    around_one("apart", runs, 0.03, function (r) return r.busy / r.cpu end)
  end)

  it("tells apps apart", function ()
    local runs = measured("apart")
    assert.equal("one,two", runs[1].names)
    around_one("apart", runs, 0.15, function (r) return r.one / 300 end)
    around_one("apart", runs, 0.1, function (r) return r.two / 900 end)
    around_one("apart", runs, 1, function (r) -- within 0 and 2, that is
      assert.is_true(r.io > 0)
      return 2 * r.io / r.one
    end)
  end)

  it("has a fused region by its first app, without its ports", function ()
    local runs, said = measured("fused")
    assert.equal("one+1", runs[1].names)
    around_one("fused", runs, 0.1, function (r) return r.both / 1200 end)
    around_one("fused", runs, 0.03, function (r) return r.busy / r.cpu end)
    assert.matches("kept: one%+1%.counter", said)
  end)

  it("is in shared memory", function ()
    local _, said = measured("fused")
    local published, own = said:match("shm=([%d.]+) own=([%d.]+)")
    assert.is_true(tonumber(own) > 100 and math.abs(published - own) < 0.1, said)
    local hz = tonumber(said:match("hz=([%d.]+)"))
    assert.is_true(hz > 0.2 and hz < 5, said)
  end)

  it("counts sleep apart", function ()
    for _, r in ipairs((measured("sleeping"))) do
      assert.is_true(r.sleep > 0)
      assert.is_true(r.busy + r.sleep < 1.1 * r.tsc)
    end
  end)

  it("isn't kept when it isn't wanted", function ()
    local said, status = testing.script([[
      engine.count_cycles = false
      local Port = require("apps.port.port").Port
      local c = config.new()
      config.app(c, "port", Port, "null")
      config.link(c, "port.output -> port.input")
      engine.configure(c)
      engine.busywait = true
      engine.main{duration = 0.2}]])
    assert.equal(0, status)
    assert.matches("load: ", said)
    assert.not_matches("cycles a packet:", said)
  end)
end)
