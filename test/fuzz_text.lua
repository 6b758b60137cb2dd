-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/fuzz_text.lua SUBJECT COUNT [SEED [FIRST]]: tries mutants FIRST (1)
-- to FIRST + COUNT - 1 of SEED (else a new one) of texts that users write. SUBJECT is
-- ports (port strings), vtep (its configuration files) or model (what `perigee model
-- predict` reads). The exit status is 1 if one wasn't answered by one sentence.

package.path = require("core.main").root .. "/test/lua/?.lua;" .. package.path

local arguments = require("testing.fuzz.arguments")
local driver = require("testing.fuzz.text_driver")
local failure = require("core.failure")
local subjects = require("testing.fuzz.text_subjects")

local subject, count, seed, first = ...

if not subjects[subject] then
  failure.usage("SUBJECT is '%s', and can be ports, vtep or model", tostring(subject))
end
local options = arguments(count, seed, first)
options.subject = subject
print(("%s: seed %d, from mutant %d on"):format(subject, options.seed, options.first))
if not driver.run(options) then failure.raise("not all of them were answered well") end
