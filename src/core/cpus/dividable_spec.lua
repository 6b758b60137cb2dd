-- SPDX-License-Identifier: Apache-2.0
local dividable = require("core.cpus.dividable")

describe("What classes say of copies", function ()
  it("is enough for all of them, if something is", function ()
    for _, case in ipairs{
      {"any", "any", "any"}, {"any", "flow", "flow"}, {"flow", "answers", "answers"},
      {"within", "answers", "within"}, {"addresses", "any", "addresses"},
      {"flow", "addresses", "addresses"}, {"addresses", "answers", nil},
      {"within", "addresses", nil},
      {"pairs", "addresses", "pairs"}, {"pairs", "flow", "pairs"},
      {"pairs", "within", nil},
    } do
      assert.equal(case[3], (dividable.both(case[1], case[2])))
      assert.equal(case[3], (dividable.both(case[2], case[1])))
    end
  end)

  it("is a kind, or a reason", function ()
    assert.truthy(dividable.is{division = "flow"})
    assert.falsy(dividable.is{division = "none"})
    assert.falsy(dividable.is{})
    assert.equal("its class doesn't say how copies of it could divide packets",
      dividable.why_not{})
    assert.equal("it is blue", dividable.why_not{undivided = "it is blue"})
  end)

  it("is told in a line for each kind and reason", function ()
    assert.same({
      "  any packet to any copy: a, c",
      "  not divided: it is blue: b",
    }, dividable.lines{{name = "a", kind = "any"}, {name = "b", why = "it is blue"},
      {name = "c", kind = "any"}})
  end)
end)
