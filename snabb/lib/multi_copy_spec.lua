-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local multi_copy = require("lib.multi_copy")

describe("lib.multi_copy", function ()
  it("copies each place's bytes, and no others", function ()
    local from = ffi.new("uint8_t[300]")
    for i = 0, 299 do from[i] = i % 251 end
    for _, size in ipairs{1, 4, 31, 32, 63, 64, 65, 200} do
      for _, count in ipairs{1, 2, 7, 8, 9, 32} do
        local places = ffi.new("void *[?]", count)
        for i = 0, count - 1 do places[i] = from + i * 3 end
        local to = ffi.new("uint8_t[?]", count * size + 1)
        to[count * size] = 0xee
        multi_copy.gen(count, size)(to, places)
        for i = 0, count - 1 do
          assert.equal(ffi.string(from + i * 3, size), ffi.string(to + i * size, size))
        end
        assert.equal(0xee, to[count * size])
      end
    end
  end)
end)
