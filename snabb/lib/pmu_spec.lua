-- SPDX-License-Identifier: Apache-2.0
local pmu = require("lib.pmu")

local function work(n)
  local sum = 0
  for i = 1, n do sum = (sum + i * i) % 1000003 end
  return sum
end

describe("lib.pmu", function ()
  it("says that there are no counters, and why", function ()
    local available, why = pmu.is_available()
    assert.is_false(available)
    assert.is_truthy(why:find("perf stat"))
  end)

  it("counts cycles, more of them for more work", function ()
    local result, few = pmu.measure(function () return work(1e4) end, nil, {packet = 7})
    local _, many = pmu.measure(function () return work(1e7) end)
    assert.equal(work(1e4), result)
    assert.equal(7, few.packet)
    assert.is_true(few.tsc_cycles > 0 and many.tsc_cycles > few.tsc_cycles)
  end)

  it("counts into the set that was switched to", function ()
    local set, other = pmu.new_counter_set(), pmu.new_counter_set()
    pmu.switch_to(set)
    pmu.switch_to(nil)
    local first = pmu.to_table(set).tsc_cycles
    work(1e5)
    assert.equal(first, pmu.to_table(set).tsc_cycles)
    assert.equal(0, pmu.to_table(other).tsc_cycles)
  end)
end)
