-- SPDX-License-Identifier: Apache-2.0
-- A header's members cost compiled code what a plain C struct's cost.

local ffi = require("ffi")
local stack = require("lib.stack")
local testing = require("testing.support")

local ip4 = stack.registry.find("ip4").default
local plain = ffi.typeof("$ *", ffi.typeof(ip4.declaration))
local bytes = ffi.new("uint8_t[64]")

-- The machine code's size, in bytes, of a loop's trace. LOOP is a chunk of its own, so
-- that no trace of another is part of it.
local function compiled(text, pointer)
  local loop = loadstring(("local h, other = ... return function (n) for i = 1, n do "
    .. "%s end end"):format(text))(ffi.cast(pointer, bytes),
    ffi.cast(pointer, bytes + 32))
  return testing.machine_code(loop)
end

-- Of a number the machine code has one to eight bytes, by what it is: of addresses that
-- differ from run to run. What a look at an index costs is more.
local ONE_NUMBER = 8

local function assert_as_small(expected, size)
  assert.is_number(expected)
  assert.is_true(math.abs(size - expected) <= ONE_NUMBER,
    ("%d bytes, where a C struct's are %d"):format(size, expected))
end

describe("a header's member in a loop", function ()
  for name, text in pairs{
    ["that is assigned"] = "h.tTL = i",
    ["that is an address"] = "h.src = other.dst",
    ["that is read"] = "h.protocol = h.tTL + i",
    ["whose address is set"] = "h.dst:set(i)",
  } do
    it(name .. " compiles to what a C struct's does", function ()
      assert_as_small(compiled(text, plain), compiled(text, ip4.fast_pointer))
    end)
  end

  -- With an array of C in the place of what is asked about indices.
  it("that is an array costs nothing where the index is a constant", function ()
    local array = ffi.typeof("struct { struct { uint8_t uint8[4]; } src, dst; } *")
    local own = ffi.typeof("struct { struct perigee_ip4 src, dst; } *")
    local text = "h.src.uint8[3] = i + other.dst.uint8[2]"
    assert_as_small(compiled(text, array), compiled(text, own))
  end)

  it("is refused in compiled code as before it", function ()
    local h = ffi.cast(ip4.fast_pointer, bytes)
    local function assign(value) h.src = value end
    for i = 1, 300 do
      local said = select(2, pcall(assign, i))
      assert.matches(("ip4.src takes another IPv4 address, not %d;"):format(i), said, 1,
        true)
    end
  end)
end)
