-- SPDX-License-Identifier: Apache-2.0
local scrapes = require("lib.control.scrapes")

describe("what serves metrics", function ()
  local cpu, now
  before_each(function () cpu, now = 0, 0 end)
  local function cpu_clock() return cpu end
  local function clock() return now end

  it("waits until a hundredth of the time is more than it has used", function ()
    local budget = scrapes.budget(cpu_clock, clock)
    cpu = 0.05
    assert.equal(0, budget:pause())
    cpu = 0.06
    assert.near(1, budget:pause(), 1e-9)
    now = 0.5
    assert.near(0.5, budget:pause(), 1e-9)
    now = 1000 -- but quiet times save little
    assert.equal(0, budget:pause())
    cpu = 0.12
    assert.near(1, budget:pause(), 1e-9)
  end)

  it("collects in steps, once for all who ask, and not again at once", function ()
    local collected = 0
    local source = scrapes.source(function ()
      coroutine.yield()
      collected, cpu = collected + 1, cpu + 0.001
      return {{program = "x", pid = 1, objects = {}}}
    end, cpu_clock, clock)
    assert.is_false(source:work()) -- nobody has asked
    assert.is_nil(source:text())
    assert.is_nil(source:text(true))
    assert.is_true(source:work())
    assert.is_false(source:work())
    assert.matches("# EOF", source:text())
    assert.not_matches("# EOF", source:text(true))
    now = 0.9
    assert.is_string(source:text())
    now = 1
    assert.is_nil(source:text())
    assert.equal(1, collected)
  end)

  it("collects less often what takes long", function ()
    local source = scrapes.source(function ()
      cpu = cpu + 0.05
      return {}
    end, cpu_clock, clock)
    source:text()
    source:work()
    now = 9.9
    assert.is_string(source:text())
    now = 10
    assert.is_nil(source:text())
  end)
end)
