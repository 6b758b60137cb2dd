-- SPDX-License-Identifier: Apache-2.0
-- perigee -p test/lua run test/fuzz_pcap_port.lua COUNT [SEED [FIRST]]: reads damaged
-- capture files FIRST (1) to FIRST + COUNT - 1 of SEED (else a new one) by the pcap
-- port and by lib.pcap.reader. The exit status is 1 if they differ.

local failure = require("core.failure")
local mutants = require("testing.pcap_port")

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
}
local ok, good, bad = pcall(mutants.run, options)
if not ok then failure.raise("%s", tostring(good)) end
print(("seed %d: %d files read whole, %d up to a fault"):format(options.seed, good,
  bad))
