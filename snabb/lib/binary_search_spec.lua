-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local binary_search = require("lib.binary_search")

-- The index of the first entry that isn't less, by looking at each.
local function expected(keys, count, key)
  for i = 0, count - 1 do
    if keys[i] >= key then return i end
  end
  return count - 1
end

describe("lib.binary_search", function ()
  it("finds what a look at each entry finds, at every size", function ()
    math.randomseed(1)
    for count = 1, 70 do
      local keys = {}
      for i = 1, count do keys[i] = math.random(0, 2 * count) end
      table.sort(keys)
      local array = ffi.new("uint32_t[?]", count, keys)
      local search = binary_search.gen(count, ffi.typeof("uint32_t"))
      for key = 0, 2 * count + 1 do
        assert.equal(expected(array, count, key), tonumber(search(array, key) - array))
      end
    end
  end)

  it("takes keys as unsigned, and entries of any size", function ()
    local entry = ffi.typeof("struct { uint32_t key; char rest[9]; }")
    local array = ffi.new(ffi.typeof("$[3]", entry),
      {{key = 1}, {key = 0x7fffffff}, {key = 0xfffffff0}})
    local search = binary_search.gen(3, entry)
    assert.equal(2, tonumber(search(array, 0x80000000) - ffi.cast(
      ffi.typeof("$ *", entry), array)))
    assert.equal(0xfffffff0, search(array, 0xffffffff).key)
  end)

  it("refuses to search nothing", function ()
    assert.has_error(function () binary_search.gen(0, ffi.typeof("uint32_t")) end,
      "can't search 0 entries; give 1 or more")
  end)
end)
