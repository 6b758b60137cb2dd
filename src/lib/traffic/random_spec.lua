-- SPDX-License-Identifier: Apache-2.0
-- Random numbers for the packet path.

local ffi = require("ffi")
local random = require("lib.traffic.random")

describe("lib.traffic.random", function()
  it("is SplitMix64", function()
    -- The first results of its reference implementation for the state 1234567.
    local state, results = 1234567ULL, {}
    for i = 1, 3 do
      state = state + 0x9E3779B97F4A7C15ULL
      results[i] = tostring(random.mix(state))
    end
    assert.are.same({"6457827717110365317ULL", "3203168211198807973ULL",
                     "9817491932198370423ULL"}, results)
  end)

  it("repeats with the same seed, and differs with another", function()
    local function first(seed)
      local r = ffi.new("struct perigee_random")
      random.seed(r, seed)
      return {random.uniform(r), random.uniform(r)}
    end
    assert.are.same(first(1), first(1))
    assert.are_not.same(first(1), first(2))
    assert.are_not.same(first(0), first(1))
  end)

  it("is spread evenly, also by index", function()
    local r = ffi.new("struct perigee_random")
    random.seed(r, 3)
    local counts, by_index = {}, {}
    for i = 0, 9 do counts[i], by_index[i] = 0, 0 end
    for i = 0, 99999 do
      local a = math.floor(10 * random.uniform(r))
      local b = math.floor(10 * random.at(i, 5ULL))
      counts[a], by_index[b] = counts[a] + 1, by_index[b] + 1
    end
    for i = 0, 9 do
      assert.is_true(math.abs(counts[i] - 10000) < 500, counts[i])
      assert.is_true(math.abs(by_index[i] - 10000) < 500, by_index[i])
    end
  end)
end)
