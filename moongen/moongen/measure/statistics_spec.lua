-- SPDX-License-Identifier: Apache-2.0
local statistics = require("moongen.measure.statistics")

describe("statistics", function ()
  local data = {4, 1, 3, 2, 10}

  it("sums, averages and finds what is in the middle", function ()
    assert.equal(20, statistics.sum(data))
    assert.equal(4, statistics.average(data))
    assert.equal(3, statistics.median(data))
    assert.same({4, 1, 3, 2, 10}, data) -- in its old order
  end)

  it("computes the deviation of a sample", function ()
    assert.near(math.sqrt((0 + 9 + 1 + 4 + 36) / 4), statistics.stdDev(data), 1e-12)
    assert.equal(0, statistics.stdDev{7})
  end)

  it("finds percentiles by nearest rank", function ()
    assert.equal(1, statistics.percentile(data, 0))
    assert.equal(1, statistics.percentile(data, 20))
    assert.equal(2, statistics.percentile(data, 21))
    assert.equal(10, statistics.percentile(data, 100))
    assert.is_nil(statistics.percentile({}, 50))
  end)

  it("gives no number for an empty list", function ()
    local nan = statistics.average{}
    assert.is_true(nan ~= nan)
  end)

  it("leaves the ends out where there are others", function ()
    local long, short = {100, 1, 3, 100}, {5, 7}
    statistics.addStats(long, true)
    statistics.addStats(short, true)
    assert.same({2, 4, 1}, {long.avg, long.sum, long.median})
    assert.equal(6, short.avg)
  end)
end)
