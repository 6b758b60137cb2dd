-- SPDX-License-Identifier: Apache-2.0
-- For specs: a quick share of the fuzzing of what users write; CONTRIBUTING.md has the
-- long form.

local assert = require("luassert")
local testing = require("testing.support")

local text_specs = {}

--- Define, by busted's functions, the specs of a subject (testing.fuzz.text_subjects):
--- `what` it is, and how many mutants of each seed.
function text_specs.define(describe, it, subject, what, mutants)
  local seeds = {["a fixed seed"] = 20, ["another seed"] = os.time() % 2^31}
  describe("fuzzing " .. what .. " #slow", function ()
    for name, seed in pairs(seeds) do
      it(("gets one sentence at most with %s (%d)"):format(name, seed), function ()
        local said, status = testing.script(([[
          local driver = require("testing.fuzz.text_driver")
          os.exit(driver.run{subject = %q, count = %d, seed = %d, first = 1}
            and 0 or 1)
        ]]):format(subject, mutants, seed))
        assert.equal(0, status, said)
        -- Both happen, or the test has lost its meaning.
        local taken, refused = said:match("(%d+) taken, (%d+) refused")
        assert.equal(mutants, taken + refused)
        assert.is_true(tonumber(taken) > mutants / 200, said)
        assert.is_true(tonumber(refused) > mutants / 10, said)
      end)
    end
  end)
end

return text_specs
