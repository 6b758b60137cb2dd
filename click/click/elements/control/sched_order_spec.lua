-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("SchedOrderTest", function ()
  it("shows that turns go by tickets", function ()
    local r = click.run([[
      a :: SchedOrderTest(1, SIZE 60, STOP true); b :: SchedOrderTest(2);
      ScheduleInfo(a 1, b 2)]])
    local _, ones = (r:handler_read("a.order")):gsub("%f[%d]1%f[%D]", "")
    local _, twos = (r:handler_read("b.order")):gsub("%f[%d]2%f[%D]", "")
    assert.equal(60, ones + twos)
    assert.is_true(math.abs(ones - 20) <= 1, tostring(ones))
    r:close()
  end)

  it("ends when it has had so many turns", function ()
    local r = click.run([[
      a :: SchedOrderTest(7, LIMIT 3); DriverManager(wait 0.1s, stop)]])
    assert.equal("7 7 7\n", (r:handler_read("a.order")))
    r:close()
  end)
end)
