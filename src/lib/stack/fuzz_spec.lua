-- SPDX-License-Identifier: Apache-2.0
-- A quick share of the fuzzing of the protocol stacks; CONTRIBUTING.md has the long
-- form. Each run is a process of its own: a read outside of a packet kills it.

local testing = require("testing.support")
local ffi = require("ffi")
local guard = require("testing.fuzz.guard")
local Random = require("testing.fuzz.random")
local stack = require("lib.stack")
local stacks = require("testing.fuzz.stacks")

local MUTANTS = 10000 -- of each seed
local FIXED_SEED = 20

local function fuzz(seed)
  return testing.script(([[
    local driver = require("testing.fuzz.driver")
    os.exit(driver.run{count = %d, seed = %d, first = 1} and 0 or 1)
  ]]):format(MUTANTS, seed))
end

describe("fuzzing lib.stack #slow", function ()
  for name, seed in pairs{["a fixed seed"] = FIXED_SEED,
                          ["another seed"] = os.time() % 2^31} do
    it(("finds nothing with %s (%d)"):format(name, seed), function ()
      local said, status = fuzz(seed)
      assert.equal(0, status, said)
      assert.truthy(said:find(MUTANTS .. " packets tried", 1, true), said)
    end)
  end

  it("has stacks with every protocol", function ()
    local missing = {}
    for _, name in ipairs(stack.protocols()) do missing[name] = true end
    for _, arguments in ipairs(stacks) do
      for _, item in ipairs(arguments) do
        missing[type(item) == "table" and item[1] or item] = nil
      end
    end
    assert.is_nil((next(missing)))
  end)
end)

describe("a guarded packet", function ()
  local function killed_by(statement)
    local said, status = testing.script([[
      local guard = require("testing.fuzz.guard")
      local p = guard.packet()
      local bytes = require("ffi").new("uint8_t[200]")
      local read = 0
    ]] .. statement .. " print('alive', read)")
    return status ~= 0 and not said:find("alive"), said
  end

  it("lies in memory as DPDK's do", function ()
    local p = guard.packet()
    assert.equal(0, tonumber(ffi.cast("uintptr_t", ffi.cast("void *", p))) % 64)
    guard.free(p)
  end)

  it("kills who reads or writes outside of it", function ()
    assert.is_true(killed_by("guard.place(p, bytes, 100); read = p.data[100]"))
    assert.is_true(killed_by("guard.place(p, bytes, 0); p.data[0] = 1"))
    assert.is_true(killed_by("guard.place(p, bytes, 100, true); read = p.data[-1]"))
    local killed, said = killed_by("guard.place(p, bytes, 100); read = p.data[99]")
    assert.is_false(killed, said)
  end)

  it("knows whether the bytes around it were touched", function ()
    local p, bytes = guard.packet(), ffi.new("uint8_t[200]")
    for _, front in ipairs{false, true} do
      guard.place(p, bytes, 100, front)
      assert.is_true(guard.untouched(p, 100))
      p.data[front and 100 or -1] = 1
      assert.is_false(guard.untouched(p, 100))
    end
    guard.free(p)
  end)
end)

describe("its random numbers", function ()
  it("are those of the seed and number, and spread", function ()
    local a, b = Random.new(1, 2), Random.new(1, 2)
    local other, buckets = Random.new(1, 3), {}
    local same = 0
    for i = 1, 4096 do
      local word = a:word()
      assert.equal(word, b:word())
      if word == other:word() then same = same + 1 end
      local bucket = Random.new(7, i):range(1, 16)
      buckets[bucket] = (buckets[bucket] or 0) + 1
    end
    assert.is_true(same < 3)
    for bucket = 1, 16 do
      assert.is_true(buckets[bucket] > 180 and buckets[bucket] < 340)
    end
  end)
end)
