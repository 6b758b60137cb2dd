-- SPDX-License-Identifier: Apache-2.0
local moving_average = require("click.scheduling.moving_average")

describe("A moving average", function ()
  it("comes near to its values in whole steps", function ()
    local average = moving_average.new(4)
    average:update(10)
    assert.equal(640, average.scaled)
    for _ = 1, 400 do average:update(10) end
    assert.equal(10, average:rounded())
    average:rest(3)
    assert.equal(8, average:rounded())
    average:rest(100)
    assert.equal(0, average.scaled)
  end)

  it("is text of as few digits as tell it from others", function ()
    for scaled, text in pairs{[0] = "0", [1] = "0.001", [512] = "0.5", [1023] = "0.999",
      [1024] = "1", [2050] = "2.002", [10240] = "10"} do
      assert.equal(text, moving_average.text(scaled))
    end
  end)
end)

describe("A moving rate", function ()
  it("counts what comes in each thousandth of a second", function ()
    local rate = moving_average.rate()
    for k = 1, 2000 do rate:add(3, k / 1000 + 1e-6) end
    assert.equal("2993.164", moving_average.rate_text(rate.average.scaled))
    assert.equal(3 * 1024, moving_average.limit(3000))
    rate:add(0, 10)
    assert.equal(0, rate.average.scaled)
  end)
end)
