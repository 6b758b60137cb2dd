-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local function read(r, name) return (tostring(assert(r:handler_read(name)))) end

describe("Unqueue2", function ()
  it("pulls what the queues behind it have room for", function ()
    for _, case in ipairs{
      {"3, QUIET true", "Counter -> q :: Queue(5) -> Idle", "5 packets\n", "0"},
      {"0, QUIET true", "q :: Queue(5) -> Idle", "5 packets\n", "0"},
      {"0, QUIET true", "q :: SimpleQueue(5) -> Idle", "5 packets\n", "0"},
      {"0, QUIET true, QUEUES r",
        "q :: Queue(5) -> Idle; Idle -> r :: Queue(8) -> Idle",
        "20 packets\n", "15"},
      {"0, QUIET true, QUEUES q r",
        "q :: Queue(5) -> Idle; Idle -> r :: Queue(8) -> Idle", "5 packets\n", "0"},
    } do
      local r = click.run(([[InfiniteSource(LIMIT 20) -> Queue -> u :: Unqueue2(%s)
        -> %s; Script(TYPE ACTIVE, set i 0, label again, set i $(add $i 1), wait 1ms,
          goto again $(lt $i 9), stop)]])
        :format(case[1], case[2]))
      assert.same({case[3], case[4]}, {read(r, "u.packets"), read(r, "q.drops")})
      r:close()
    end
  end)

  it("goes on when there is room again", function ()
    local r = click.run([[InfiniteSource(LIMIT 20) -> Queue -> u :: Unqueue2(QUIET true)
      -> q :: Queue(5) -> TimedUnqueue(0.1) -> c :: Counter(COUNT_CALL 20 stop)
      -> Discard]])
    assert.same({"20", "0"}, {read(r, "c.count"), read(r, "q.drops")})
    r:close()
  end)

  it("says what should be used, and knows queues alone", function ()
    local unit = click.unit("Unqueue2")
    assert.same({"Unqueue2 is deprecated, you should probably use Unqueue"},
      unit.warnings)
    local _, problem = click.router("Idle -> u :: Unqueue2(QUEUES u) -> Discard")
    assert.matches("'u' is not a Storage element", problem, 1, true)
    _, problem = click.router("Idle -> u :: Unqueue2(QUEUES x) -> Discard")
    assert.matches("no element named 'x'", problem, 1, true)
  end)
end)
