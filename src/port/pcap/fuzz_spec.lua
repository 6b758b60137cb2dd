-- SPDX-License-Identifier: Apache-2.0
-- Damaged capture files. More of them: perigee run test/fuzz_pcap_port.lua

local mutants = require("testing.pcap_port")

local FEW, MANY = 4000, 20000

describe("the pcap port", function ()
  local function check(files)
    local good, bad = mutants.run{count = files, seed = os.time() % 2^31, first = 1}
    -- Both happen often, or the test has lost its meaning.
    assert.is_true(good > files / 100)
    assert.is_true(bad > files / 100)
  end

  it("reads damaged files as lib.pcap.reader does #slow", function () check(FEW) end)
  it("reads many damaged files as that does #slow", function () check(MANY) end)
end)
