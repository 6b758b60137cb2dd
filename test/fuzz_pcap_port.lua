-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/fuzz_pcap_port.lua COUNT [SEED [FIRST]]: reads damaged capture files
-- FIRST (1) to FIRST + COUNT - 1 of SEED (else a new one) by the pcap port and by
-- lib.pcap.reader. The exit status is 1 if they differ.

package.path = require("core.main").root .. "/test/lua/?.lua;" .. package.path

local failure = require("core.failure")
local mutants = require("testing.pcap_port")

local options = require("testing.fuzz.arguments")(...)
local ok, good, bad = pcall(mutants.run, options)
if not ok then failure.raise("%s", tostring(good)) end
print(("seed %d: %d files read whole, %d up to a fault"):format(options.seed, good,
  bad))
