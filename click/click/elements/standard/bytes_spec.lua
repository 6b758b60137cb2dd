-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("Strip", function ()
  it("takes bytes from the front, and drops what is shorter", function ()
    local unit = click.unit("Strip(2)")
    assert.same({{1, "cdef"}}, unit:send("abcdef"))
    assert.same({{1, ""}}, unit:send("ab"))
    assert.same({}, unit:send("a"))
    assert.same({["too short"] = 1}, unit.lost)
    unit:free()
  end)
end)
