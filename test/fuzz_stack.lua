-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/fuzz_stack.lua COUNT [SEED [FIRST]]: tries mutants FIRST (1) to
-- FIRST + COUNT - 1 of SEED (else a new one) on the protocol stacks. The exit status
-- is 1 if one of them raised an error or read outside of the packet.

package.path = require("core.main").root .. "/test/lua/?.lua;" .. package.path

local driver = require("testing.fuzz.driver")
local failure = require("core.failure")

local options = require("testing.fuzz.arguments")(...)
options.progress = true
print(("seed %d, from mutant %d on"):format(options.seed, options.first))
if not driver.run(options) then failure.raise("the stacks didn't stand it") end
