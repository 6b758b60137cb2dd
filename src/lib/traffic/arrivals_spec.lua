-- SPDX-License-Identifier: Apache-2.0
local arrivals = require("lib.traffic.arrivals")

describe("lib.traffic.arrivals", function ()
  it("gives each packet of a rate the same time", function ()
    assert.is_near(1 / 3e5, arrivals.gap(arrivals.new{packets = 3e5}, 60), 1e-15)
  end)

  it("gives each frame its time on the wire", function ()
    local a = arrivals.new{bits = 1e10}
    assert.is_near(67.2e-9, arrivals.gap(a, 60), 1e-15)
    assert.is_near(1230.4e-9, arrivals.gap(a, 1514), 1e-15)
  end)

  it("has a Poisson process's mean and deviation, which are the same", function ()
    for _, case in ipairs{{packets = 1e6}, {bits = 672e6}} do
      local a = arrivals.new(case, "poisson", 7)
      local sum, squares, n = 0, 0, 200000
      for _ = 1, n do
        local gap = arrivals.gap(a, 60) * 1e6
        sum, squares = sum + gap, squares + gap * gap
      end
      local mean = sum / n
      assert.is_true(math.abs(mean - 1) < 0.02, mean)
      assert.is_true(math.abs(math.sqrt(squares / n - mean * mean) - 1) < 0.03)
    end
  end)

  it("has no gaps without a rate", function ()
    assert.equal(0, arrivals.gap(arrivals.new(nil), 60))
  end)
end)
