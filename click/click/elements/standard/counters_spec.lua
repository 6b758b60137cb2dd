-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local rates = require("click.scheduling.rates")

describe("Counter", function ()
  it("counts packets and bytes", function ()
    local unit = click.unit("Counter")
    unit:send("abc")
    unit:send("de")
    unit:free()
    assert.equal(2, unit:read("count"))
    assert.equal(5, unit:read("byte_count"))
    unit:write("reset")
    assert.equal(0, unit:read("count"))
  end)

  it("calls handlers when it has counted so many", function ()
    local unit = click.unit("Counter(COUNT_CALL 2 x.y z, BYTE_COUNT_CALL 7 stop)")
    unit:send("abc")
    assert.same({}, unit.called)
    unit:send("abc")
    assert.same({"x.y z"}, unit.called)
    unit:send("abc")
    unit:send("abc")
    assert.same({"x.y z", "stop"}, unit.called)
    unit:free()
    assert.equal(2, unit:read("count_call"))
    assert.equal("COUNT_CALL type mismatch", unit:write("count_call", "x y"))
  end)

  it("measures rates", function ()
    local r = click.run([[
      RatedSource(LENGTH 100, RATE 2000) -> c :: Counter -> m :: Meter(1000, 3000)
        -> Discard; m[1] -> d :: Counter -> Discard; m[2] -> Discard;
      TimedSource(3, LIMIT 0, STOP true) -> Discard]])
    local function near(expected, handler)
      local value = tonumber((r:handler_read(handler)))
      assert.is_true(math.abs(value - expected) < 0.05 * expected, value)
    end
    near(2000, "c.rate")
    near(200000, "c.byte_rate")
    near(1600000, "c.bit_rate")
    near(5900, "d.count")
    r:close()
  end)
end)

describe("A meter", function ()
  -- How many packets leave by each output, after a burst and then a second's packets.
  local function counts(class, limits)
    local r = click.run(([[
      RatedSource(LENGTH 100, RATE 1000, LIMIT 4009) -> m :: %s(%s)
        -> a :: Counter -> Discard; m[1] -> b :: Counter -> Discard;
      m[2] -> c :: Counter -> Discard; DriverManager(wait 5s, stop)]])
      :format(class, limits))
    local text = {}
    for i, name in ipairs{"a", "b", "c"} do
      text[i] = r:handler_read(name .. ".count")
    end
    local rates_text = r:handler_read("m.meters")
    r:close()
    return table.concat(text, "/"), rates_text
  end

  it("chooses as Click's does", function ()
    assert.same({"10/3999/0", "10000 1000000"},
      {counts("BandwidthMeter", "10kBps, 1MBps")})
    assert.equal("10/21/3978", (counts("Meter", "500, 900")))
  end)
end)

describe("A rate", function ()
  it("forgets what was", function ()
    local n = 0
    local rate = rates.new(function () return n end)
    for t = 0, 1, 0.02 do
      n = n + 10
      rate:sample(t)
    end
    assert.is_true(math.abs(rate.value - 500) < 5)
    for t = 1.02, 2, 0.02 do rate:sample(t) end
    assert.is_true(rate.value < 5)
    rate:reset()
    assert.equal(0, rate.value)
  end)
end)

describe("AverageCounter", function ()
  it("goes from the first packet to the last", function ()
    local r = click.run([[
      TimedSource(0.1, DATA abcd, LIMIT 51, STOP true) -> c :: AverageCounter -> Discard
      ]])
    assert.equal("51", (r:handler_read("c.count")))
    assert.is_true(math.abs(tonumber((r:handler_read("c.rate"))) - 10.2) < 0.01)
    assert.is_true(math.abs(tonumber((r:handler_read("c.time"))) - 5) < 0.01)
    assert.equal(tostring(51 * (4 + 24) * 8), (r:handler_read("c.link_count")))
    assert.is_true(r:handler_write("c.reset"))
    assert.equal("0", (r:handler_read("c.count")))
    r:close()
  end)

  it("may leave out the first seconds", function ()
    local r = click.run([[
      TimedSource(0.1, LIMIT 50, STOP true) -> c :: AverageCounter(IGNORE 1) -> Discard
      ]])
    assert.is_true(math.abs(tonumber((r:handler_read("c.count"))) - 40) <= 1)
    r:close()
  end)
end)
