-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

-- A router in which `n` packets come to RED while its queue holds `held`.
local function run(arguments, held, n)
  local r = click.run(([[
    fill :: InfiniteSource(LIMIT %d, ACTIVE false) -> q :: Queue(1000);
    s :: InfiniteSource(LIMIT %d, ACTIVE false) -> red :: RED(%s) -> q;
    red [1] -> d :: Discard;
    q -> i :: Idle;
    DriverManager(write fill.active true, wait 1s, write s.active true, wait 1s,
      stop)]]):format(held, n, arguments))
  local function number(name) return tonumber((r:handler_read(name))) end
  return r, number
end

describe("RED", function ()
  it("drops nothing while the queue is short", function ()
    local r, number = run("10, 100, 0.5", 0, 10)
    assert.equal(0, number("red.drops"))
    assert.equal(10, number("q.length"))
    assert.equal("q\n", (r:handler_read("red.queues")))
    r:close()
  end)

  it("drops all above twice the maximum, or above it if it isn't gentle", function ()
    local r, number = run("10, 100, 0.5, STABILITY 0", 201, 50)
    assert.equal(50, number("red.drops"))
    assert.equal(50, number("d.count"))
    assert.equal(201, number("red.avg_queue_size"))
    r:close()
    r, number = run("10, 100, 0.5, STABILITY 0, GENTLE false", 101, 50)
    assert.equal(50, number("red.drops"))
    assert.equal("10, 100, 0.5, QUEUES q, STABILITY 0, GENTLE false",
      (r:handler_read("red.config")))
    r:close()
  end)

  it("drops by chance between the thresholds", function ()
    -- The queue holds 55, of 10 to 100: a packet is dropped with a quarter, and from
    -- one that is to the next there are five at most.
    local r, number = run("10, 100, 0.5, STABILITY 0, QUEUES q", 55, 20)
    local dropped = number("red.drops")
    assert.is_true(dropped >= 4 and dropped < 20, tostring(dropped))
    assert.equal(75, number("q.length") + dropped)
    r:close()
  end)

  it("averages over many looks", function ()
    local r, number = run("10, 100, 0.5, STABILITY 2", 8, 1)
    assert.equal("2", (r:handler_read("red.avg_queue_size")))
    assert.is_true((r:handler_write("red.max_thresh", "50")))
    assert.equal(50, number("red.max_thresh"))
    assert.equal("9 current queue\n2 avg queue\n0 drops\n",
      (r:handler_read("red.stats")))
    r:close()
  end)

  it("pulls past what it drops, and looks upstream", function ()
    local r = click.run([[
      fill :: InfiniteSource(LIMIT 100, BURST 100) -> q :: Queue
        -> red :: RED(1, 2, 1, STABILITY 0) -> u :: Unqueue -> d :: Discard;
      DriverManager(wait 1s, stop)]])
    assert.equal("q\n", (r:handler_read("red.queues")))
    local dropped = tonumber((r:handler_read("red.drops")))
    assert.is_true(dropped > 0)
    assert.equal(100 - dropped, tonumber((r:handler_read("d.count"))))
    r:close()
  end)

  it("refuses what makes no sense", function ()
    for arguments, problem in pairs{
      ["5, 4, 0.5"] = "MIN_THRESH must be <= MAX_THRESH",
      ["5, 65536, 0.5"] = "MAX_THRESH must be <= 65535",
      ["5, 6, 1.5"] = "MAX_P must be between 0 and 1",
      ["5, 6, 0.5, STABILITY 17"] = "STABILITY must be between 0 and 16",
    } do
      assert.same({problem}, click.unit(("RED(%s)"):format(arguments)).errors)
    end
    assert.same({"no nearby Queues"}, click.unit("RED(1, 2, 0.1)").errors)
    local _, problem = click.router(
      "Idle -> red :: RED(1, 2, 0.1, QUEUES red) -> Discard")
    assert.matches("'red' is not a Storage element", problem)
  end)
end)
