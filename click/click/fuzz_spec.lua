-- SPDX-License-Identifier: Apache-2.0
-- Mutants of configurations. More of them: perigee run test/fuzz_click.lua
local mutants = require("testing.fuzz.configurations")

describe("Mutants of configurations", function ()
  it("run, or are refused with a place and a reason #slow", function ()
    local counts, bad = mutants.run{seed = 1, first = 1, count = 300}
    local one = bad[1]
    assert.is_nil(one, one and ("number %d: %s\n%s"):format(one.number, one.problem,
      one.text))
    assert.is_true(counts.runs > 30 and counts.refused > 30)
  end)

  it("would be found if they failed", function ()
    local element = require("click.element")
    local registry = require("click.registry")
    local Bad = element.define{name = "Bad", ports = "0/0"}
    function Bad:initialize() return self.nothing.at_all end
    local find = registry.find
    registry.find = function (name) return name == "Bad" and Bad or find(name) end
    local result, problem = mutants.try("Bad")
    registry.find = find
    assert.is_nil(result)
    assert.truthy(problem:find("index field 'nothing'", 1, true))
  end)

  it("are made again by their number", function ()
    assert.equal(mutants.make(mutants.CORPUS, 3, 7), mutants.make(mutants.CORPUS, 3, 7))
    assert.not_equal(mutants.make(mutants.CORPUS, 3, 7),
      mutants.make(mutants.CORPUS, 3, 8))
  end)
end)
