-- SPDX-License-Identifier: Apache-2.0
-- What the fuzzers are told on the command line: COUNT [SEED [FIRST]].

local failure = require("core.failure")

local function number(text, what, least)
  local n = tonumber(text)
  if n and n % 1 == 0 and n >= least and n < 2^31 then return n end
  failure.usage("%s is '%s', which isn't a whole number from %d to 2^31 - 1",
    what, tostring(text), least)
end

--- {count =, seed =, first =} of the words; without a seed a new one.
return function (count, seed, first)
  return {
    count = number(count, "COUNT", 1),
    seed = number(seed or os.time() % 2^31, "SEED", 0),
    first = number(first or 1, "FIRST", 1),
  }
end
