-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local hmap = require("moongen.tables.hmap")

local function key(n)
  local bytes = ffi.new("uint64_t[2]")
  bytes[0] = n
  return bytes
end

local function number(accessor) return ffi.cast("uint64_t *", accessor:get()) end

describe("hmap", function ()
  local map, a

  before_each(function ()
    map = hmap.createHashmap(9, 1)
    a = map.newAccessor()
  end)

  after_each(function ()
    a:free()
    map:delete()
  end)

  it("rounds sizes up, and refuses what is too large", function ()
    assert.same({16, 8}, {map.keyBufSize(), map.valueSize()})
    local other = hmap.createHashmap(64, 128)
    assert.equal(64, hmap.getLargestKeyBufSize{map, other})
    other:delete()
    assert.error_matches(function () hmap.createHashmap(65, 8) end,
      "key has up to 64 bytes, not 65")
  end)

  it("keeps what is added under its key until it is erased", function ()
    for n = 1, 5000 do
      assert.is_true(map:access(a, key(n)))
      assert.equal(0, tonumber(number(a)[0]))
      number(a)[0] = n * n
    end
    assert.is_false(map:access(a, key(7)))
    assert.is_false(map:find(a, key(5001)))
    assert.error_matches(function () a:get() end, "holds nothing")
    for n = 1, 5000 do
      assert.is_true(map:find(a, key(n)))
      assert.equal(n * n, tonumber(number(a)[0]))
      if n % 2 == 0 then assert.is_true(map:erase(a)) end
    end
    assert.error_matches(function () map:erase(a) end, "holds nothing")
    for n = 1, 5000 do assert.equal(n % 2 == 1, map:find(a, key(n))) end
  end)

  it("cleans what is below a threshold, but for what is held", function ()
    for n = 1, 100 do
      map:access(a, key(n))
      number(a)[0] = n
    end
    map:find(a, key(3))
    assert.equal(48, map:clean(50))
    assert.equal(0, map:clean(50))
    a:release()
    assert.equal(1, map:clean(50))
    map:clear()
    assert.is_false(map:find(a, key(70)))
  end)

  it("keeps an entry that is held while the map is cleared", function ()
    map:access(a, key(1))
    number(a)[0] = 42
    map:clear()
    assert.equal(42, tonumber(number(a)[0]))
    local b = map.newAccessor()
    assert.is_true(map:access(b, key(1)))
    assert.is_false(map:erase(a))
    b:release()
    assert.is_true(map:find(b, key(1)))
    b:release()
  end)
end)
