-- SPDX-License-Identifier: Apache-2.0
-- What flow managers do alike is in click/flow/manager_spec.lua.

local click = require("testing.click")

describe("FlowIPManagerBucket", function ()
  it("counts flows by bucket, up to so many in each", function ()
    local lines = {}
    for i = 0, 11 do lines[i + 1] = ("1.0.0.%d 2.0.0.2 U"):format(i % 6) end
    local r = click.run_dump("src dst proto", lines, [[SOURCE -> AggregateIP(ip src)
      -> m :: FlowIPManagerBucket(2, 2) -> FlowCounter -> c :: Counter -> Discard]])
    assert.equal("2\n2\n", r:handler_read("m.count"))
    assert.equal("0", (tostring(r:handler_read("m.count_fids"))))
    assert.matches("\ncapacity\tr\n", r:handler_read("m.handlers"), 1, true)
    assert.equal("8", (tostring(r:handler_read("c.count"))))
    r:close()
  end)
end)
