-- SPDX-License-Identifier: Apache-2.0
-- The histogram's percentiles against those of a sorted list.

local latency = require("lib.traffic.latency")
local random = require("lib.traffic.random")

local function near(wanted, got, share)
  assert.is_true(math.abs(got - wanted) <= share * wanted + 0.5,
                 ("%.15g isn't near %.15g"):format(got, wanted))
end

describe("lib.traffic.latency", function()
  it("is empty at first", function()
    local h = latency.new()
    assert.is_nil(latency.summary(h))
    assert.is_nil(latency.quantile(h, 0.5))
  end)

  it("finds each value again, within its error", function()
    local value = 1
    while value < latency.LONGEST do
      for _, v in ipairs{value, math.floor(value * 1.37), 4 * value - 1} do
        if v < 0.999 * latency.LONGEST then
          local h = latency.new()
          latency.add(h, 0)
          latency.add(h, v)
          latency.add(h, 2 * latency.LONGEST)
          near(v, latency.quantile(h, 0.5), latency.ERROR)
        end
      end
      value = value * 2
    end
  end)

  it("keeps the extremes exactly", function()
    local h = latency.new()
    for _, v in ipairs{12345.5, 99, 1e12} do latency.add(h, v) end
    local s = latency.summary(h)
    assert.are.equal(99, s.min)
    assert.are.equal(1e12, s.max)
    assert.are.equal(3, s.count)
    assert.are.equal((12345.5 + 99 + 1e12) / 3, s.mean)
    assert.are.equal(1e12, latency.quantile(h, 1))
  end)

  it("takes in another", function ()
    local a, b, both = latency.new(), latency.new(), latency.new()
    for i = 1, 100 do
      local v = 37 * i ^ 2
      latency.add(i % 3 == 0 and a or b, v)
      latency.add(both, v)
    end
    latency.merge(a, b)
    assert.same(latency.summary(both), latency.summary(a))
    latency.merge(a, latency.new())
    assert.same(latency.summary(both), latency.summary(a))
  end)

  it("agrees with a sorted list on any distribution", function()
    local h, list = latency.new(), {}
    for i = 1, 20000 do
      list[i] = math.floor(10 ^ (1 + 8 * random.at(i, 1ULL)))
      latency.add(h, list[i])
    end
    table.sort(list)
    local s = latency.summary(h)
    for key, q in pairs{median = 0.5, p90 = 0.9, p99 = 0.99, p999 = 0.999} do
      near(list[math.ceil(q * #list)], s[key], latency.ERROR)
    end
  end)
end)
