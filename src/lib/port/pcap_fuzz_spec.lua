-- SPDX-License-Identifier: Apache-2.0
-- Damaged capture files. More of them: perigee -p test/lua run test/fuzz_pcap_port.lua

local mutants = require("testing.pcap_port")

local FILES = 20000

describe("the pcap port", function ()
  it("reads " .. FILES .. " damaged files as lib.pcap.reader does", function ()
    local good, bad = mutants.run{count = FILES, seed = os.time() % 2^31, first = 1}
    -- Both happen often, or the test has lost its meaning.
    assert.is_true(good > FILES / 100)
    assert.is_true(bad > FILES / 100)
  end)
end)
