-- SPDX-License-Identifier: Apache-2.0
local ordered = require("core.ordered")

local function keys(t)
  local list = {}
  for key, value in ordered.pairs(t) do
    assert.equal(t[key], value)
    list[#list + 1] = key
  end
  return list
end

describe("ordered pairs", function ()
  it("come in order whatever the table's own is", function ()
    assert.same({1, 2, 7.5, "x", "y", "bar", "foo", "asia", "europe"}, keys{
      europe = 1, foo = 2, y = 3, [7.5] = 4, asia = 5, x = 6, bar = false, "a", "b"})
  end)

  it("are those that pairs gives", function ()
    local t = {[true] = 1, [{}] = 2, [print] = 3, [0] = 4, [""] = 5}
    for i = 1, 100 do t["key" .. i] = i end
    local seen = {}
    for key, value in ordered.pairs(t) do
      assert.is_nil(seen[key])
      seen[key] = value
    end
    assert.same(t, seen)
    assert.same({}, keys{})
  end)

  it("leave out what is removed meanwhile", function ()
    local t, seen = {a = 1, b = 2, c = 3}, {}
    for key in ordered.pairs(t) do
      seen[#seen + 1] = key
      t.b, t.new = nil, true
    end
    assert.same({"a", "c"}, seen)
  end)
end)
