-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("WorkPackage", function ()
  it("passes packets as they are, each to the output of its input", function ()
    for _, arguments in ipairs{"", "S 1, N 100, W 3", "N 50, R 100, W 1",
      "N 50, R 100, PAYLOAD true", "S 0.001, N 20, R 50, W 2"} do
      local unit = click.unit(("WorkPackage(%s)"):format(arguments),
        {inputs = 2, outputs = 2})
      assert.same({}, unit.errors)
      for _, bytes in ipairs{"", "abc", "abcd", ("x"):rep(60), ("y"):rep(1500)} do
        assert.same({{1, bytes}}, unit:send(bytes))
        assert.same({{2, bytes}}, unit:send(bytes, 2))
      end
      unit:free()
    end
  end)

  it("does the work", function ()
    local unit = click.unit("WorkPackage(S 1, N 10, W 1)")
    local before, found = unit.element.work.state, {}
    for _ = 1, 20 do
      unit:send("x")
      found[unit.element.work.result] = true
    end
    local n = 0
    for _ in pairs(found) do n = n + 1 end
    assert.is_true(n > 10)
    assert.is_true(unit.element.work.state ~= before)
    unit:free()
  end)

  it("wants what it can do", function ()
    assert.same({"R: out of range, bound 100"}, click.unit("WorkPackage(R 101)").errors)
    assert.same({"S: out of range, bound 4096"},
      click.unit("WorkPackage(S 5000)").errors)
  end)
end)

describe("RandLoad", function ()
  it("passes packets, and draws numbers", function ()
    local unit = click.unit("RandLoad(MIN 5, MAX 5)")
    local before = unit.element.work.state
    assert.same({{1, "abc"}}, unit:send("abc"))
    assert.is_true(unit.element.work.state ~= before)
    unit:free()
    assert.same({}, click.unit("RandLoad").errors)
    assert.same({"MAX 3 is less than MIN 4"},
      click.unit("RandLoad(MIN 4, MAX 3)").errors)
  end)
end)
