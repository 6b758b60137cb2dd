-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("AggregateLast", function ()
  it("passes the last packet of flows that are over", function ()
    local r = click.run([[
      FromIPSummaryDump(DATA "!data timestamp src dst sport dport proto tcp_flags
1 1.0.0.1 2.0.0.2 7 8 T S
1 3.0.0.3 2.0.0.2 7 8 T S
1 1.0.0.1 2.0.0.2 7 8 T R
90 3.0.0.3 2.0.0.2 7 8 T A
", STOP true)
      -> flows :: AggregateIPFlows(REAP 1)
      -> l :: AggregateLast(NOTIFIER flows) -> over :: Counter -> Discard;
      l[1] -> before :: Counter -> Discard]])
    assert.equal("1", r:handler_read("over.count"))
    assert.equal("2", r:handler_read("before.count"))
    local last = r:find("l").last
    assert.is_nil(last[1])
    assert.is_not_nil(last[2])
    r:close()
    assert.same({"d is not an AggregateNotifier"},
      click.unit("AggregateLast(NOTIFIER d)", {others = {d = {name = "d",
        class = {}}}}).errors)
  end)

  it("sends all when it is told to, once, and drops others by name", function ()
    local unit = click.unit("AggregateLast")
    assert.same({}, unit:send("a"))
    assert.same({}, unit:send("b"))
    unit:write("clear", "")
    assert.same({{1, "b"}}, unit:work(2))
    assert.same({}, unit:work(1))
    unit:free()
  end)
end)
