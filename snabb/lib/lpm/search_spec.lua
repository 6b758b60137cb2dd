-- SPDX-License-Identifier: Apache-2.0
-- Of the C functions that Snabb's lib.lpm calls (snabb/native/lpm.c).
local ffi = require("ffi")

ffi.cdef[[
uint16_t lpm4_248_search(uint32_t ip, int16_t *big, int16_t *little);
uint32_t lpm4_248_search32(uint32_t ip, int32_t *big, int32_t *little);
uint16_t lpm4_dxr_search(uint32_t ip, uint16_t *ints, uint16_t *keys,
  uint32_t *bottoms, uint32_t *tops);
]]

describe("snabb/native/lpm.c", function ()
  it("finds ranges as a look at each does #slow", function ()
    math.randomseed(6)
    local bottoms, tops = ffi.new("uint32_t[65536]"), ffi.new("uint32_t[65536]")
    for n = 1, 150 do
      local list = {}
      for i = 1, n - 1 do list[i] = math.random(0, 65535) end
      list[n] = 65535
      table.sort(list)
      local ends = ffi.new("uint16_t[?]", n + 3)
      local keys = ffi.new("uint16_t[?]", n + 3)
      for i = 1, n do ends[i + 2], keys[i + 2] = list[i], i end
      bottoms[77], tops[77] = 3, n + 2
      for _ = 1, 200 do
        local low = math.random(0, 65535)
        if low % 2 == 0 then low = list[math.random(n)] end
        local expected = 1
        while list[expected] < low do expected = expected + 1 end
        assert.equal(expected,
          ffi.C.lpm4_dxr_search(77 * 65536 + low, ends, keys, bottoms, tops))
      end
    end
  end)

  it("looks the last 8 bits up where the first 24 say so", function ()
    for bits, search in pairs{[16] = ffi.C.lpm4_248_search,
      [32] = ffi.C.lpm4_248_search32} do
      local array = ffi.typeof("int" .. bits .. "_t[?]")
      local big, little = array(2^24), array(1024)
      big[0x010203], big[0xffffff] = 2^(bits - 1) + 3 - 2^bits, 9
      little[3 * 256 + 255] = 12
      assert.equal(12, search(0x010203ff, big, little))
      assert.equal(0, search(0x010203fe, big, little))
      assert.equal(9, search(0xffffff01, big, little))
      assert.equal(0, search(0x01020401, big, little))
    end
  end)
end)
