-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local tsc = require("lib.tsc")

describe("lib.tsc", function ()
  it("measures what the system's clock measures, within 1 %", function ()
    for _, source in ipairs{"rdtsc", "system"} do
      local clock = tsc.new{source = source}
      local best = 1 -- of three: the process may be stopped between two readings
      for _ = 1, 3 do
        local t0, s0 = ffi.C.get_time_ns(), clock:stamp()
        ffi.C.usleep(20000)
        local t1, s1 = ffi.C.get_time_ns(), clock:stamp()
        local ns, measured = tonumber(t1 - t0), tonumber(clock:to_ns(s1 - s0))
        best = math.min(best, math.abs(measured / ns - 1))
      end
      assert.is_true(best < 0.01, source .. " is off by " .. best)
      assert.equal(source, clock:source())
    end
  end)

  it("gives ticks and their rate as whole numbers of 64 bits", function ()
    local clock = tsc.new()
    assert.equal("uint64_t", tostring(ffi.typeof(clock:tps())):match("<(.-)>"))
    assert.equal(clock:time_fn(), tsc.rdtsc)
    assert.equal(1000000000ULL, tsc.new{source = "system"}:tps())
  end)

  it("names the sources there are", function ()
    assert.has_error(function () tsc.new{source = "sundial"} end,
      "there is no time source 'sundial'; there are rdtsc and system")
  end)
end)
