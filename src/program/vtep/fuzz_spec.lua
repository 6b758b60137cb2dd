-- SPDX-License-Identifier: Apache-2.0
-- A quick share of the fuzzing of its configuration files; CONTRIBUTING.md has the long
-- form.

local testing = require("testing.support")

local MUTANTS = 2000 -- of each seed

describe("fuzzing configuration files #slow", function ()
  for name, seed in pairs{["a fixed seed"] = 20, ["another seed"] = os.time() % 2^31} do
    it(("gets one sentence at most with %s (%d)"):format(name, seed), function ()
      local said, status = testing.script(([[
        local driver = require("testing.fuzz.text_driver")
        os.exit(driver.run{subject = "vtep", count = %d, seed = %d, first = 1}
          and 0 or 1)
      ]]):format(MUTANTS, seed))
      assert.equal(0, status, said)
      -- Both happen, or the test has lost its meaning.
      local taken, refused = said:match("(%d+) taken, (%d+) refused")
      assert.equal(MUTANTS, taken + refused)
      assert.is_true(tonumber(taken) > MUTANTS / 200, said)
      assert.is_true(tonumber(refused) > MUTANTS / 10, said)
    end)
  end
end)
