-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")
local signals = require("click.router.signals")

-- An element with several pull inputs, each with these packets, one byte each.
local function unit_of(text, ...)
  local supplies = {...}
  local unit = click.unit(text, {inputs = #supplies, pull = true})
  for i, bytes in ipairs(supplies) do
    for c in bytes:gmatch(".") do unit:supply(c, i) end
  end
  local known = unit.element.gates or {}
  for i = 1, #supplies do known[i] = signals.BUSY end
  return unit
end

local function all(unit)
  local texts = {}
  for i = 1, 200 do texts[i] = unit:pull() end
  return table.concat(texts)
end

describe("Schedulers", function ()
  it("take turns", function ()
    assert.equal("1ax2by3zz", all(unit_of("RoundRobinSched", "123", "ab", "xyzz")))
    assert.equal("1a2b3", all(unit_of("RoundRobinSched(2)", "123", "ab", "x")))
  end)

  it("prefer the first", function ()
    local unit = unit_of("PrioSched", "12", "ab")
    assert.equal("1", unit:pull())
    assert.equal("2", unit:pull())
    assert.equal("a", unit:pull())
    unit:supply("3", 1)
    assert.equal("3b", all(unit))
  end)

  it("go by tickets", function ()
    local unit = unit_of("StrideSched(1, 2)", ("a"):rep(60), ("b"):rep(60))
    local first = {}
    for i = 1, 30 do first[i] = unit:pull() end
    local _, n = table.concat(first):gsub("a", "")
    assert.equal(10, n)
    unit:write("tickets1", "0")
    assert.equal("", (all(unit):gsub("[ab]", "")))
  end)

  it("pull from one input, as is set", function ()
    local unit = unit_of("SimplePullSwitch(1)", "12", "ab")
    assert.equal("a", unit:pull())
    unit:write("switch", "0")
    assert.equal("12", all(unit))
    unit:write("switch", "-1")
    assert.is_nil(unit:pull())
    assert.equal(-1, unit:read("switch"))
    assert.equal("ab", all(unit_of("StaticPullSwitch(1)", "12", "ab")))
  end)

  it("tell of the input that is set", function ()
    local unit = unit_of("PullSwitch(-1)", "12", "")
    assert.is_false(unit.element.signal.active)
    unit.element.gates[2] = {active = false}
    unit:write("switch", "0")
    assert.is_true(unit.element.signal.active)
    unit:write("switch", "1")
    assert.is_nil(unit:pull())
    assert.is_false(unit.element.signal.active)
  end)

  it("pull by timestamps", function ()
    local unit = click.unit("TimeSortedSched(STOP true)", {inputs = 2, pull = true})
    for i, times in ipairs{{1, 3, 5}, {2, 4}} do
      for _, time in ipairs(times) do
        local p = packet.from_string(tostring(time))
        note.set_time(p, time)
        unit:supply(p, i)
      end
      unit.element.gates[i] = signals.BUSY
    end
    assert.equal("12345", all(unit))
    assert.is_nil(unit.stopped)
    for i = 1, 2 do unit.element.gates[i] = {active = false} end
    assert.is_nil(unit:pull())
    assert.is_true(unit.stopped)
    assert.is_true(unit:read("well_ordered"))
  end)
end)
