-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/fuzz_click.lua COUNT [SEED [FIRST [FILE...]]]: tries mutants FIRST
-- (1) to FIRST + COUNT - 1 of SEED (else a new one) of some Click configurations, or
-- of the FILEs. What raises an error is printed, and the exit status is 1. What
-- doesn't end within 20 seconds ends the process: its number is in the file
-- build/fuzz_click.

package.path = require("core.main").root .. "/test/lua/?.lua;" .. package.path

local failure = require("core.failure")
local mutants = require("testing.fuzz.configurations")

local words = {...}
local options = require("testing.fuzz.arguments")(words[1], words[2], words[3])
for i = 4, #words do
  local file = io.open(words[i], "rb") or failure.usage("%s: can't be read", words[i])
  options.corpus = options.corpus or {}
  table.insert(options.corpus, file:read("*a"))
  file:close()
end

local progress = io.open(require("core.main").root .. "/build/fuzz_click", "w")
function options.before(n, text)
  if not progress then return end
  progress:seek("set")
  progress:write(("seed %d, number %d\n%s\n\0"):format(options.seed, n, text))
  progress:flush()
end

local counts, bad = mutants.run(options)
for _, one in ipairs(bad) do
  print(("seed %d, number %d: %s\n%s\n"):format(options.seed, one.number, one.problem,
    one.text))
end
print(("seed %d: %d run, %d are refused"):format(options.seed, counts.runs,
  counts.refused))
if #bad > 0 then failure.raise("%d of them fail", #bad) end
