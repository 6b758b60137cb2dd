-- SPDX-License-Identifier: Apache-2.0
local expressions = require("click.traffic.expressions")

describe("click.traffic.expressions", function ()
  it("makes functions of x", function ()
    for text, value in pairs {
      ["10 + min(90,10*x)"] = 30, ["x"] = 2, ["2^x^2"] = 16, ["-x / 4"] = -0.5,
      ["100 * ((sin(-pi/2 + (x/10)^2.5) * (-x/20 + 1) + 1) * ((200 - 1) / 2) + 1)"] =
        100 * ((math.sin(-math.pi / 2 + 0.2 ^ 2.5) * 0.9 + 1) * 99.5 + 1),
      ["squarewave(x)"] = 1, ["squarewave(-x)"] = -1, ["5 % 3"] = 2, ["1e2"] = 100,
      ["log(100) + ln(e)"] = 3,
    } do
      assert.is_true(math.abs(value - expressions.compile(text)(2)) < 1e-9, text)
    end
  end)

  it("refuses anything else", function ()
    for _, text in ipairs {"", "y", "x +", "os.exit()", "x; y", "'x'", "x -- y", "x..x",
        "min", "f(x)", "(function() end)()", "x == x", "min()"} do
      assert.is_nil(expressions.compile(text), text)
    end
  end)
end)
