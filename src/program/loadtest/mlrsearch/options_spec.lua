-- SPDX-License-Identifier: Apache-2.0
local testing = require("testing.support")
local options = require("program.loadtest.mlrsearch.options")

describe("loadtest mlrsearch", function ()
  it("has 21 trials decide on a rate unless another time is given", function ()
    local o = options.parse{"--sizes", "60", "-D", "2", "null"}
    assert.same({42, 42}, {o.goals[1].duration_sum, o.goals[2].duration_sum})
    assert.equal(4, options.parse{"--sizes", "60", "--duration-sum", "4",
      "null"}.goals[1].duration_sum)
  end)

  it("refuses what makes no sense", function ()
    for words, sentence in pairs{
      ["-D 0 null"] = "--duration 0: a trial takes some time",
      ["--duration-sum 0 null"] = "--duration-sum 0: a trial takes some time",
      ["--exceed 100 null"] = "--exceed 100: it must be less",
      ["--width 0 null"] = "--width 0: the bounds would never be so near",
      ["--min 2G -b 1G null"] = "--min 2e+09: it must be above 0",
      ["--loss 100 null"] = "'100' lets everything be lost",
    } do
      local said = testing.refusal(options.parse, words, "--sizes 60")
      assert.matches(sentence, said, 1, true)
    end
  end)
end)
