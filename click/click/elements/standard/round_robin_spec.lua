-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("RoundRobinUnqueue", function ()
  it("takes a burst of each input in turn", function ()
    local unit = click.unit("RoundRobinUnqueue(2)", {inputs = 2, outputs = 2})
    for _, bytes in ipairs{"a", "b", "c"} do unit:supply(bytes) end
    unit:supply("d", 2)
    assert.same({{1, "a"}, {1, "b"}}, unit:work())
    assert.same({{2, "d"}}, unit:work())
    assert.same({{1, "c"}}, unit:work())
    assert.equal("4 packets\n", unit:read("packets"))
    assert.same({}, unit:work(3))
    assert.is_false(unit.element:scheduled()) -- nothing upstream has packets
    unit:free()
  end)

  it("takes one without BURST, and all with 0", function ()
    local one = click.unit("RoundRobinUnqueue", {inputs = 1, outputs = 1})
    local all = click.unit("RoundRobinUnqueue(0)", {inputs = 1, outputs = 1})
    for _, unit in ipairs{one, all} do
      for _ = 1, 5 do unit:supply("x") end
    end
    assert.equal(1, #one:work())
    assert.equal(5, #all:work())
    one:free()
    all:free()
  end)

  it("has as many outputs as inputs", function ()
    assert.same({"number of outputs must equal to number of inputs"},
      click.unit("RoundRobinUnqueue", {inputs = 2, outputs = 1}).errors)
  end)

  it("serves the queues of a router until they are empty", function ()
    local r = click.run([[
      InfiniteSource(LIMIT 3, STOP false) -> q0 :: Queue;
      InfiniteSource(LIMIT 5, STOP false) -> q1 :: Queue;
      r :: RoundRobinUnqueue;
      q0 -> [0]r[0] -> a :: Counter -> Discard;
      q1 -> [1]r[1] -> b :: Counter -> Discard;
      Script(wait 1, stop)]])
    assert.equal("3", r:handler_read("a.count"))
    assert.equal("5", r:handler_read("b.count"))
    assert.equal("8 packets\n", r:handler_read("r.packets"))
    assert.equal("false", r:handler_read("r.scheduled"))
    r:close()
  end)
end)
