-- SPDX-License-Identifier: Apache-2.0
local tables = require("core.lib.tables")

describe("tables", function ()
  it("have their keys sorted", function ()
    assert.same({"a", "b", "c"}, tables.sorted_keys{b = 1, c = false, a = 2})
    assert.same({2, 10}, tables.sorted_keys{[10] = 1, [2] = 1})
    assert.same({}, tables.sorted_keys{})
  end)

  it("are copied, the last one's entries first", function ()
    local inner = {}
    local t = {1, 2, x = inner}
    local copy = tables.copy(t)
    assert.same(t, copy)
    assert.are_not.equal(t, copy)
    assert.equal(inner, copy.x)
    assert.same({a = 1, b = 3, c = 4}, tables.copy({a = 1, b = 2}, nil, {b = 3, c = 4}))
    assert.same({}, tables.copy(nil))
    assert.same({}, tables.copy())
  end)

  it("become sets", function ()
    assert.same({a = true, b = true}, tables.set_of{"a", "b", "a"})
  end)

  it("give one field of each item", function ()
    local items = {x = {n = 1}, y = {}, z = {n = false}}
    assert.same({x = 1, z = false}, tables.field(items, "n"))
  end)
end)
