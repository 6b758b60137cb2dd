-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local bytes = require("core.lib.bytes")

-- RFC 1071 word by word in plain numbers.
local function reference_csum(s)
  local sum = 0
  for i = 1, #s, 2 do
    sum = sum + s:byte(i) * 256 + (s:byte(i + 1) or 0)
    if sum > 0xffff then sum = sum - 0xffff end
  end
  return 0xffff - sum
end

local function random_string(length)
  local out = {}
  for i = 1, length do out[i] = string.char(math.random(0, 255)) end
  return table.concat(out)
end

describe("csum", function()
  it("is an IPv4 header's", function()
    local header = "\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\x00\x00"
      .. "\xc0\xa8\x00\x01\xc0\xa8\x00\xc7"
    assert.equal(0xb861, bytes.csum(header, #header))
  end)

  it("pads an odd byte on the right", function()
    assert.equal(0xfdfb, bytes.csum("\x01\x02\x01\x02\x00", 5))
    assert.equal(0xfeff, bytes.csum("\x01", 1))
    assert.equal(0xfeff, bytes.csum("\x01", "1"))
    assert.equal(0xffff, bytes.csum("", 0))
  end)

  it("agrees with the reference at all lengths", function()
    for length = 0, 300 do
      local s = random_string(length)
      assert.equal(reference_csum(s), bytes.csum(s, length))
    end
  end)

  it("doesn't overflow on long or extreme data", function()
    for _, length in ipairs {65534, 65535, 65537, 1000001} do
      local s = ("\xff"):rep(length)
      assert.equal(reference_csum(s) % 0xffff, bytes.csum(s, length) % 0xffff)
      s = ("\xa5"):rep(length)
      assert.equal(reference_csum(s), bytes.csum(s, length))
    end
  end)

  it("adds up in parts, from a 64-bit sum too", function()
    local s = random_string(100)
    local sum = bytes.update_csum(s, 40, 0LL)
    sum = bytes.update_csum(ffi.cast("const char *", s) + 40, 60, sum)
    assert.equal(reference_csum(s), bytes.finish_csum(sum))
    assert.equal(0xffff - 2, bytes.finish_csum(0x10001LL))
  end)
end)

-- The top 2 bytes of what is no number, or infinite, and the other 6.
local function each_not_finite(check)
  for first = 0xf0, 0xff do
    for _, top in ipairs{"\x7f", "\xff"} do
      for _, rest in ipairs{"\0", "\x80", "\xff"} do
        check(rest:rep(6) .. string.char(first) .. top)
      end
    end
  end
end

describe("double", function()
  it("is a number, or NaN", function()
    local memory, infinite = ffi.new("double[1]"), 0
    for _, value in ipairs{0, -0.5, 1e300, 5e-324, 1 / 0, -1 / 0} do
      memory[0] = value
      assert.equal(value, bytes.double(memory))
    end
    each_not_finite(function (text)
      local value = bytes.double(ffi.cast("const char *", text))
      assert.equal("number", type(value))
      if math.abs(value) == math.huge then infinite = infinite + 1 end
      assert.is_true(value ~= value or math.abs(value) == math.huge)
    end)
    assert.equal(2, infinite)
  end)
end)

describe("finite_double", function()
  it("is a finite number", function()
    local memory = ffi.new("double[1]")
    for _, value in ipairs{0, -0.5, 1e300, 5e-324, -1.7976931348623157e308} do
      memory[0] = value
      assert.equal(value, bytes.finite_double("abc" .. ffi.string(memory, 8), 3))
    end
  end)

  it("is nil else", function()
    each_not_finite(function (text) assert.is_nil(bytes.finite_double(text, 0)) end)
  end)
end)

describe("bounds_checked", function()
  local memory = ffi.new("uint32_t[8]")
  local array = bytes.bounds_checked("uint32_t", memory, 8, 4)

  it("reads and writes base + offset", function()
    array[0], array[3] = 7, 9
    assert.equal(7, memory[2])
    assert.equal(9, memory[5])
    assert.equal(9, array[3])
  end)

  it("refuses an index outside", function()
    for _, index in ipairs {-1, 4, 1e9} do
      assert.has_error(function() return array[index] end)
      assert.has_error(function() array[index] = 1 end)
    end
    local _, err = pcall(function() return array[4] end)
    assert.matches("index 4 is outside the array's 0%.%.3", err)
  end)
end)

describe("malloc", function()
  local memory_before = package.loaded["core.memory"]
  after_each(function() package.loaded["core.memory"] = memory_before end)

  it("is a typed pointer to DMA memory of the type's size", function()
    local block = ffi.new("uint8_t[64]")
    local asked
    package.loaded["core.memory"] = {dma_alloc = function(size)
      asked = size
      return ffi.cast("uint8_t *", block)
    end}
    local pair = bytes.malloc("struct { uint32_t a, b; }")
    assert.equal(8, asked)
    pair.b = 0x01020304
    assert.equal(0x04, block[4])
  end)
end)
