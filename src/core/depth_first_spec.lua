-- SPDX-License-Identifier: Apache-2.0

local graph = require("core.depth_first")

describe("core.depth_first", function ()
  it("finds nodes from the first root that leads to them", function ()
    local finished, root_of = graph.depth_first({"a", "x", "c"},
      {a = {"b", "c"}, b = {"c"}, c = {}, x = {"b"}})
    assert.same({"c", "b", "a", "x"}, finished)
    assert.same({a = "a", b = "a", c = "a", x = "x"}, root_of)
  end)

  it("sorts, and tells edges that close loops by their places", function ()
    local successors = {a = {"b"}, b = {"c", "d"}, c = {"a", "d"}, d = {"d"}}
    local sorted, place = graph.sort({"a", "b", "c", "d"}, successors)
    assert.same({"a", "b", "c", "d"}, sorted)
    local closing = {}
    for from, list in pairs(successors) do
      for _, to in ipairs(list) do
        if place[to] <= place[from] then closing[from .. to] = true end
      end
    end
    assert.same({ca = true, dd = true}, closing)
  end)

  it("has no limit to the length of a chain", function ()
    local nodes, successors = {}, {}
    for i = 1, 1e5 do nodes[i], successors[i] = i, {i < 1e5 and i + 1 or nil} end
    assert.same(nodes, graph.sort(nodes, successors))
  end)
end)
