-- SPDX-License-Identifier: Apache-2.0
local ends = require("moongen.tasks.ends")
require("moongen.measure.moonsniff")
local C = require("moongen.packets.script_ffi").C

describe("moonsniff", function ()
  it("matches packets by their numbers", function ()
    C.ms_set_thresh(-10)
    C.ms_add_entry(5, 1000)
    C.ms_add_entry(6, 2000)
    C.ms_add_entry(7, 5000)
    C.ms_test_for(5, 1100)
    C.ms_test_for(6, 2300)
    C.ms_test_for(6, 2300)   -- once more
    C.ms_test_for(9, 1)
    C.ms_test_for(7, 4000)   -- before it was sent
    local stats = C.ms_fetch_stats()
    assert.same({3, 2, 1, 200, 20000}, {stats.hits, stats.misses, stats.inval_ts,
      tonumber(stats.average_latency), tonumber(stats.variance_latency)})
  end)

  it("counts values in buckets", function ()
    C.hs_initialize(10)
    for _, value in ipairs{4, 5, 14, 15, -6} do C.hs_update(value) end
    assert.equal(5, tonumber(C.hs_getCount()))
    assert.near(6.4, C.hs_getMean(), 1e-9)
    assert.near(73.3, C.hs_getVariance(), 1e-9)
    local name = os.tmpname()
    C.hs_write(name)
    local lines = {}
    for line in io.lines(name) do lines[#lines + 1] = line end
    assert.same({"-10,1", "0,1", "10,2", "20,1"}, lines)
    os.remove(name)
    assert.is_nil(ends.failure())
    C.hs_write("/dev/full")
    assert.equal("can't write /dev/full: No space left on device", ends.failure())
    C.hs_destroy()
  end)
end)
