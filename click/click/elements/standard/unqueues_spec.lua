-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local click_router = require("testing.click_router")

local function run(text, options)
  local r = click.run(text, options)
  local values = {}
  for _, handler in ipairs(options.read) do
    values[#values + 1] = r:handler_read(handler)
  end
  r:close()
  return values
end

local function read(...) return {read = {...}} end

describe("Unqueue", function ()
  it("moves packets, and sleeps when there are none", function ()
    local unit = click.unit("Unqueue(3)")
    for i = 1, 5 do unit:supply(tostring(i)) end
    assert.same({{1, "1"}, {1, "2"}, {1, "3"}}, unit:work())
    assert.same({{1, "4"}, {1, "5"}}, unit:work())
    assert.is_false(unit.element:scheduled())
    assert.equal(5, unit:read("count"))
    unit:free()
  end)

  it("stops at its limit until that is moved", function ()
    local unit = click.unit("Unqueue(LIMIT 2, BURST -1)")
    for i = 1, 5 do unit:supply(tostring(i)) end
    assert.same({{1, "1"}, {1, "2"}}, unit:work(3))
    unit:write("reset")
    assert.same({{1, "3"}, {1, "4"}}, unit:work(3))
    unit:write("limit", "-1")
    assert.same({{1, "5"}}, unit:work(3))
    unit:write("active", "false")
    assert.same({}, unit:work(3))
    unit:free()
  end)

  it("is woken by the queue upstream", function ()
    assert.same({"10", "false"}, run([[
      TimedSource(1, LIMIT 10, STOP true) -> Queue -> Strip(1) -> u :: Unqueue
        -> c :: Counter -> Discard]], read("c.count", "u.scheduled")))
  end)
end)

describe("RatedUnqueue", function ()
  it("pushes at a rate, and what its bucket holds at once", function ()
    assert.same({"100", "69"}, run([[
      InfiniteSource -> Queue -> RatedUnqueue(10) -> a :: Counter -> Discard;
      InfiniteSource -> Queue -> RatedUnqueue(2, BURST_SIZE 50) -> b :: Counter
        -> Discard;
      TimedSource(9.99, LIMIT 0, STOP true) -> Discard]], read("a.count", "b.count")))
  end)

  it("counts bytes instead", function ()
    local bytes = run([[
      InfiniteSource(LENGTH 1000) -> Queue -> BandwidthRatedUnqueue(1MBps)
        -> c :: Counter -> Discard;
      TimedSource(10, LIMIT 0, STOP true) -> Discard]], read("c.byte_count"))[1]
    assert.is_true(math.abs(tonumber(bytes) - 10e6) < 0.05e6, bytes)
  end)

  it("doesn't wait for a token of the rate that it had before", function ()
    for _, slow in ipairs{"0", "0.001"} do
      local n = click_router.count_after(([[InfiniteSource -> Queue
        -> u :: RatedUnqueue(%s, BURST_SIZE 1) -> c :: Counter -> Discard]])
          :format(slow), "u.rate", "10")
      assert.near(10, n, 1)
    end
  end)

  it("refuses two sizes of its bucket", function ()
    assert.same({"cannot specify both BURST_DURATION and BURST_SIZE"},
      click.unit("RatedUnqueue(1, BURST_SIZE 2, BURST_DURATION 1s)").errors)
  end)
end)

describe("DelayUnqueue and TimedUnqueue", function ()
  it("push packets so long after their timestamps", function ()
    local r = click.run([[
      InfiniteSource(LIMIT 1) -> Queue -> DelayUnqueue(2.5) -> c :: Counter(COUNT_CALL
        1 stop) -> Discard]])
    assert.is_true(math.abs(r.clock.passed - 2.5) < 1e-3, r.clock.passed)
    r:close()
  end)

  it("push packets at intervals", function ()
    assert.same({"8"}, run([[
      InfiniteSource(BURST 9) -> Queue -> TimedUnqueue(1, 2) -> c :: Counter -> Discard;
      TimedSource(3.5, LIMIT 0, STOP true) -> Discard]], read("c.count")))
  end)
end)

describe("Shaper", function ()
  it("lets so many be pulled", function ()
    assert.same({"100", "5"}, run([[
      InfiniteSource -> Queue -> Shaper(10) -> Unqueue(SIGNAL false, ACTIVE false)
        -> Discard;
      InfiniteSource -> Queue -> Shaper(20) -> c :: Counter -> TimedSink(1ms);
      InfiniteSource -> Queue -> Shaper(1) -> d :: Counter -> TimedSink(1ms);
      TimedSource(4.9995, LIMIT 0, STOP true) -> Discard]], read("c.count", "d.count")))
  end)

  it("counts by slots of each second, as Click's does", function ()
    assert.same({"361", "109", "1737", "361"}, run([[
      TimedSource(0.001) -> Queue(10000) -> Shaper(100) -> a :: Counter
        -> TimedSink(0.001);
      TimedSource(0.0137) -> Queue(10000) -> Shaper(30) -> b :: Counter
        -> TimedSink(0.001);
      TimedSource(0.001) -> Queue(10000) -> BandwidthShaper(33300) -> c :: Counter
        -> TimedSink(0.001);
      f :: FastUDPSource(100, -1, 60, 1:1:1:1:1:1, 10.0.0.1, 1,
        2:2:2:2:2:2, 10.0.0.2, 2) -> Discard;
      Script(wait 3.6s, stop)]],
      read("a.count", "b.count", "c.count", "f.count")))
  end)

  it("begins anew at another rate, and makes up for a second at most", function ()
    local unit = click.unit("Shaper(10)")
    for _ = 1, 300 do unit:supply("x") end
    local function pulled_after(seconds)
      unit:wait(seconds)
      local n = 0
      while unit:pull() do n = n + 1 end
      return n
    end
    local counts = {pulled_after(0), pulled_after(0.45)}
    unit:wait(0.3)
    unit:write("rate", "100")
    for _, seconds in ipairs{0.1, 0.055, 7} do
      counts[#counts + 1] = pulled_after(seconds)
    end
    assert.same({1, 4, 1, 5, 101}, counts)
    unit:write("rate", "0")
    assert.equal(0, pulled_after(5))
    unit:write("rate", "1")
    assert.equal(1, pulled_after(5))
    unit:free()
  end)

  it("takes a bandwidth of less than a byte a second for that", function ()
    -- 0.375 bytes: 64 bytes at 0, 171 and 342 seconds.
    assert.same({"3"}, run([[
      InfiniteSource(LENGTH 64) -> Queue -> BandwidthShaper(3bps) -> c :: Counter
        -> TimedSink(100ms);
      TimedSource(400, LIMIT 0, STOP true) -> Discard]], read("c.count")))
    assert.same({"bandwidth too small, minimum 100Bps, or 0 to disable bandwidth"},
      click.unit("LinkUnqueue(1, 3bps)").errors)
  end)

  it("sends the rest elsewhere as RatedSplitter", function ()
    local unit = click.unit("RatedSplitter(10, BURST_SIZE 2)", {outputs = 2})
    local function outputs(n)
      local list = {}
      for i = 1, n do list[i] = unit:send("x")[1][1] end
      return table.concat(list)
    end
    assert.equal("1122", outputs(4))
    unit:wait(0.1)
    assert.equal("122", outputs(3))
    unit:free()
  end)
end)

describe("LinkUnqueue", function ()
  it("takes a packet's time for its bytes, and the latency", function ()
    local r = click.run([[
      InfiniteSource(LENGTH 1000, LIMIT 10) -> Queue -> LinkUnqueue(1s, 10000Bps)
        -> c :: Counter(COUNT_CALL 10 stop) -> Discard]])
    assert.is_true(math.abs(r.clock.passed - 2) < 1e-3, r.clock.passed)
    r:close()
  end)
end)
