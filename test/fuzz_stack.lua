-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/fuzz_stack.lua COUNT [SEED [FIRST]]: tries mutants FIRST (1) to
-- FIRST + COUNT - 1 of SEED (else a new one) on the protocol stacks. The exit status
-- is 1 if one of them raised an error or read outside of the packet.

local failure = require("core.failure")
local root = debug.getinfo(1, "S").source:match("^@(.*)test/fuzz_stack.lua$") or ""
package.path = root .. "test/lua/?.lua;" .. package.path
local driver = require("testing.fuzz.driver")

local count, seed, first = ...

local function number(text, what, least)
  local n = tonumber(text)
  if n and n % 1 == 0 and n >= least and n < 2^31 then return n end
  failure.usage("%s is '%s', which isn't a whole number from %d to 2^31 - 1",
    what, tostring(text), least)
end

local options = {
  count = number(count, "COUNT", 1),
  seed = number(seed or os.time() % 2^31, "SEED", 0),
  first = number(first or 1, "FIRST", 1),
  progress = true,
}
print(("seed %d, from mutant %d on"):format(options.seed, options.first))
if not driver.run(options) then failure.raise("the stacks didn't stand it") end
