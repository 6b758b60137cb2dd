-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local ctype = require("core.lib.ctype")

describe("ctype", function()
  it("tells elements and declarators apart", function()
    for _, element in ipairs {"uint8_t", "uint32_t", "double"} do
      assert.equal(tostring(ffi.typeof(element .. " *")),
        tostring(ctype.pointer_to(element)))
      assert.equal(3 * ffi.sizeof(element), ffi.sizeof(ctype.array_of(element, 3)))
      assert.equal(4 * ffi.sizeof(element), ffi.sizeof(ctype.array_of(element, 4)))
    end
  end)

  it("refers to an anonymous struct in place", function()
    local point_t = ffi.typeof("struct { int x, y; }")
    local point = point_t(1, 2)
    local memory = ffi.cast("void *", point)
    local reference = ffi.cast(ctype.reference_to(point_t), memory)
    reference.y = 7
    assert.equal(7, point.y)
    assert.equal(7, ffi.cast(ctype.pointer_to(point_t), memory)[0].y)
  end)

  it("makes each type once", function()
    assert.equal(ctype.array_of("int", 5), ctype.array_of("int", 5))
  end)
end)
