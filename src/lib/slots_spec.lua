-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local slots = require("lib.slots")

local function key(n) return ffi.new("uint32_t[1]", n) end

describe("slots", function ()
  it("hold what a Lua table holds, through adding and removing #slow", function ()
    local map, model, count = slots.new(4, 64), {}, 0
    math.randomseed(5)
    for _ = 1, 50000 do
      local n = math.random(1, 100)
      local slot = map:find(key(n))
      assert.equal(model[n] or -1, slot)
      if slot >= 0 then
        map:remove(slot)
        model[n], count = nil, count - 1
      elseif count < 64 then
        local evicted
        model[n], evicted = map:add(key(n))
        assert.is_false(evicted)
        count = count + 1
      end
      assert.equal(count, map.count)
    end
    local seen = {}
    for i = 0, map.count - 1 do seen[map:at(i)] = true end
    for _, slot in pairs(model) do assert.is_true(seen[slot]) end
  end)

  it("let a random key make room when they are full", function ()
    local map, gone = slots.new(4, 100), {}
    for n = 1, 100 do map:add(key(n)) end
    for n = 101, 1100 do
      local slot, evicted = map:add(key(n))
      assert.is_true(evicted)
      assert.equal(slot, map:find(key(n)))
      assert.equal(100, map.count)
    end
    for n = 1, 1100 do gone[n] = map:find(key(n)) < 0 end
    local left, recent = 0, 0
    for n = 1, 1100 do
      if not gone[n] then left = left + 1 end
      if not gone[n] and n > 1000 then recent = recent + 1 end
    end
    assert.equal(100, left)
    assert.is_true(recent > 20 and recent < 100) -- 63 of 100 on average
  end)

  it("may have a single place", function ()
    local map = slots.new(16, 1)
    local a, b = ffi.new("uint8_t[16]", 1), ffi.new("uint8_t[16]", 2)
    assert.equal(0, (map:add(a)))
    assert.same({0, true}, {map:add(b)})
    assert.equal(-1, map:find(a))
    map:remove(0)
    assert.equal(0, map.count)
  end)
end)
