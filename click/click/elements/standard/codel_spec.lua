-- SPDX-License-Identifier: Apache-2.0
-- How many it drops when is compared with FastClick in test/test_click_elements.py.

local click = require("testing.click")

local function run(arguments, first, seconds)
  return click.run(([[
    RatedSource(LENGTH 60, RATE 1000, LIMIT 1000) -> SetTimestamp(FIRST %s)
    -> q :: Queue(2000) -> c :: CoDel%s -> TimedUnqueue(0.002) -> n :: Counter
    -> Discard;
    Script(wait %g, stop)]]):format(first, arguments, seconds))
end

describe("CoDel", function ()
  it("drops what waits too long, by name, and counts it", function ()
    local r = run("", "true", 1.5)
    local dropped = tonumber(r:handler_read("c.drops"))
    assert.is_true(dropped > 10, tostring(dropped))
    assert.equal(1000, dropped + r:handler_read("n.count") + r:handler_read("q.length"))
    assert.equal("q\n", r:handler_read("c.queues"))
    r:close()
  end)

  it("passes what has no time, or waits less than the target", function ()
    for _, case in ipairs{{"", "false"}, {"(10s)", "true"}} do
      local r = run(case[1], case[2], 1.5)
      assert.equal("0", r:handler_read("c.drops"))
      r:close()
    end
  end)

  it("takes another target while it runs", function ()
    local r = run("(10s, 50ms)", "true", 0.5)
    assert.equal("10.000000s", r:handler_read("c.codel_target"))
    r:handler_write("c.codel_target", "1ms")
    assert.equal("0.001000s", r:handler_read("c.codel_target"))
    assert.equal("0.050000s", r:handler_read("c.codel_interval"))
    r:close()
  end)
end)
