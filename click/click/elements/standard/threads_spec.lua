-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("Pipeliner", function ()
  it("takes its arguments by position, as FastClick's does", function ()
    for _, text in ipairs{"", "64", "0, 32, true", "-1, 16, BLOCKING false",
      "64, 32, false, NOUSELESS true, ACTIVE true, DIRECT_TRAVERSAL false"} do
      local unit = click.unit(("Pipeliner(%s)"):format(text))
      assert.same({}, unit.errors)
      assert.same({{1, "abc"}}, unit:send("abc"))
      unit:free()
    end
    assert.same({"Pipeliner ring size must be at least 4"},
      click.unit("Pipeliner(3)").errors)
  end)
end)
