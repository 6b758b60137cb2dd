-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("AggregateCounterVector", function ()
  it("counts by the masked annotation, in periods", function ()
    local lines = {}
    for i = 0, 11 do lines[i + 1] = ('1.0.0.%d 2.0.0.2 U "x"'):format(i % 6) end
    local r = click.run_dump("src dst proto payload", lines, [[SOURCE
      -> AggregateIP(ip src) -> v :: AggregateCounterVector(3)
      -> b :: AggregateCounterVector(0, BYTES true)
      -> FlowIPManager -> FlowLock -> c :: Counter -> Discard]])
    assert.equal("12", (tostring(r:handler_read("c.count"))))
    assert.equal("0 4\n1 4\n2 2\n3 2\n", r:handler_read("v.counts"))
    assert.equal("0 348\n", r:handler_read("b.counts"))
    assert(r:handler_write("v.clear", ""))
    assert.equal("", r:handler_read("v.counts"))
    assert.equal("0 2\n1 2\n2 1\n3 1\n", r:handler_read("v.averages"))
    r:close()
  end)
end)
