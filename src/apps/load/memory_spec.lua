-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local Memory = require("apps.load.memory").Memory

local function address(pointer)
  return tonumber(ffi.cast("uintptr_t", pointer))
end

local p = {}

-- The addresses that `n` packets with one access each lead to.
local function walk(app, n)
  local seen = {}
  for i = 1, n do
    app:process(p)
    seen[i] = address(app.list.at) - address(app.list.memory)
  end
  return seen
end

describe("apps.load.memory", function ()
  for _, pages in ipairs{"4K", "2M"} do
    it("is one cycle of 64-byte elements on pages of " .. pages, function ()
      local app = Memory:new{bytes = 8192, pages = pages}
      local seen, first = {}, walk(app, 128)
      for _, at in ipairs(first) do
        assert.equal(0, at % 64)
        assert.is_true(at < 8192)
        seen[at] = true
      end
      local n = 0
      for _ in pairs(seen) do n = n + 1 end
      assert.equal(128, n)
      assert.same(first, walk(app, 128))
      app:stop()
    end)
  end

  it("has the same order for the same seed, and another for another", function ()
    local function order(seed)
      local app = Memory:new{bytes = 4096, seed = seed}
      local seen = walk(app, 64)
      app:stop()
      return seen
    end
    assert.same(order(7), order(7))
    assert.not_same(order(7), order(8))
  end)

  it("goes so many elements for each packet", function ()
    local one, three = Memory:new{bytes = 2048}, Memory:new{bytes = 2048, accesses = 3}
    local ones, threes = walk(one, 9), walk(three, 3)
    -- Both have been walked before, as often.
    assert.same({ones[3], ones[6], ones[9]}, threes)
    one:stop()
    three:stop()
  end)

  it("takes longer where a cache doesn't hold the list #slow", function ()
    local function cycles(bytes)
      local least = math.huge
      for _ = 1, 3 do
        local app = Memory:new{bytes = bytes}
        least = math.min(least, app:cycles_an_access())
        app:stop()
      end
      return least
    end
    local l1, memory = cycles(16 * 1024), cycles(2^28)
    assert.is_true(memory > 5 * l1, ("%.1f and %.1f cycles"):format(l1, memory))
  end)

  it("refuses arguments it can't follow", function ()
    for _, case in ipairs{
      {3, "apps.load.memory takes a table with bytes and accesses"},
      {{bytes = 100}, "bytes is a whole number from 1024 to 536870912, not '100'"},
      {{bytes = 1024, accesses = -1}, "accesses is a whole number"},
      {{bytes = 1024, pages = "1G"}, "pages is '4K' or '2M', not '1G'"},
      {{bytes = 1024, seed = 0}, "seed is a whole number"},
    } do
      local ok, err = pcall(Memory.check_arg, case[1])
      assert.is_false(ok)
      assert.matches(case[2], tostring(err), 1, true)
    end
  end)
end)
