-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/fuzz_click_cpus.lua COUNT [SEED [FIRST]]: tries random
-- configurations FIRST (1) to FIRST + COUNT - 1 of SEED (else a new one) on one CPU and
-- divided on two: the same packets must come of both, each flow's in order. What
-- differs is printed, and the exit status is 1.

package.path = require("core.main").root .. "/test/lua/?.lua;" .. package.path

local failure = require("core.failure")
local fuzz = require("testing.fuzz.copies")

local words = {...}
local options = require("testing.fuzz.arguments")(words[1], words[2], words[3])
local counts, bad = fuzz.run(options)
for _, one in ipairs(bad) do
  print(("seed %d, number %d: %s\n%s\n"):format(options.seed, one.number, one.problem,
    one.text))
end
print(("seed %d: %d divided, %d can't be"):format(options.seed, counts.divided,
  counts.refused))
if #bad > 0 then failure.raise("%d of them differ", #bad) end
