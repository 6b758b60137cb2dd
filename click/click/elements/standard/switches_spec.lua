-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

-- The outputs that packets of these bytes take.
local function outputs(unit, ...)
  local list = {}
  for i, bytes in ipairs{...} do
    local out = unit:send(bytes)
    list[i] = out[1] and out[1][1] or 0
  end
  unit:free()
  return list
end

local function painted(color)
  local p = packet.from_string("x")
  note.clear(p)
  p.note8[note.PAINT] = color
  return p
end

describe("Switch", function ()
  it("sends packets where it is set to", function ()
    local unit = click.unit("Switch(1)", {outputs = 3})
    assert.same({2, 2}, outputs(unit, "a", "b"))
    unit:write("switch", "2")
    assert.same({3}, outputs(unit, "a"))
    unit:write("switch", "3")
    assert.same({0}, outputs(unit, "a"))
    assert.equal(-1, unit:read("switch"))
    assert.same({["switched off"] = 1}, unit.lost)
    assert.same({"output must be < 2"}, click.unit("Switch(2)", {outputs = 2}).errors)
    assert.same({0}, outputs(click.unit("StaticSwitch(-1)"), "a"))
  end)

  it("passes packets of one input, as InputSwitch", function ()
    local unit = click.unit("InputSwitch(1)", {inputs = 3})
    assert.equal(0, #unit:send("a", 1))
    assert.equal(1, #unit:send("a", 2))
    unit:write("switch", "0")
    assert.equal(1, #unit:send("a", 1))
    unit:free()
  end)
end)

describe("RoundRobinSwitch, HashSwitch and StrideSwitch", function ()
  it("take turns", function ()
    assert.same({1, 2, 3, 1}, outputs(click.unit("RoundRobinSwitch", {outputs = 3}),
      "a", "b", "c", "d"))
    assert.same({1, 2, 1}, outputs(click.unit("RoundRobinSwitch(MAX 2)",
      {outputs = 3}), "a", "b", "c"))
  end)

  it("choose by bytes", function ()
    local unit = click.unit("HashSwitch(1, 2)", {outputs = 3})
    assert.same({1, 1 + (98 + 99) % 3, 1 + (98 + 100) % 3},
      outputs(unit, "ab", "abc", "abd"))
    unit = click.unit("HashSwitch(0, 1)", {outputs = 4})
    assert.same({1 + bit.band(bit.bxor(0x53, 5), 3)}, outputs(unit, "\x53"))
    assert.same({"length must be > 0"}, click.unit("HashSwitch(0, 0)").errors)
  end)

  it("go by tickets", function ()
    local unit = click.unit("StrideSwitch(1, 3)", {outputs = 2})
    local count = {0, 0}
    for _ = 1, 400 do
      local o = outputs(unit, "x")[1]
      count[o] = count[o] + 1
    end
    assert.same({100, 300}, count)
    assert.same({"need 2 arguments, one per output port"},
      click.unit("StrideSwitch(1)", {outputs = 2}).errors)
    assert.equal("1, 3", unit:read("config"))
  end)

  it("go anywhere, as RandomSwitch", function ()
    local seen = {}
    for _ = 1, 200 do
      seen[outputs(click.unit("RandomSwitch", {outputs = 3}), "x")[1]] = true
    end
    assert.same({true, true, true}, seen)
  end)
end)

describe("PaintSwitch", function ()
  it("goes by the paint", function ()
    local unit = click.unit("PaintSwitch", {outputs = 3})
    assert.same({1, 3, 0}, outputs(unit, painted(0), painted(2), painted(3)))
    assert.same({{1, "x"}, {2, "x"}, {3, "x"}}, unit:send(painted(255)))
    unit:free()
    assert.same({1, 3, 2}, outputs(click.unit("PaintRR", {outputs = 3}), painted(0),
      painted(5), painted(7)))
    for _, map in ipairs{"MAP 7, MAP 9", "MAP 7 9"} do
      unit = click.unit(("ExactPaintSwitch(%s, DEFAULT -1)"):format(map), {outputs = 2})
      assert.same({1, 2, 0}, outputs(unit, painted(7), painted(9), painted(1)))
      unit:free()
    end
  end)
end)
