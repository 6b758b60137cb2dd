-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local bit = require("bit")
local base = require("lib.hash.base")
local murmur = require("lib.hash.murmur")

-- The number with which SMHasher verifies a hash function: of the hashes of 0, 01,
-- 0102, ... (0 to 255 bytes, seeds 256 to 1), hashed together.
local function verification(hash)
  local size = hash:size() / 8
  local hashes = ffi.new("uint8_t[?]", size * 256)
  local key = ffi.new("uint8_t[256]")
  for i = 0, 255 do
    key[i] = i
    ffi.copy(hashes + i * size, hash:hash(key, i, 256 - i), size)
  end
  return hash:hash(hashes, size * 256, 0).u32[0]
end

local function hex_32(text, seed)
  local hash = murmur.MurmurHash3_x86_32:new()
  return bit.tohex(hash:hash(ffi.cast("const char *", text), #text, seed).i32[0])
end

local function hex_128(text, seed)
  local h = murmur.MurmurHash3_x64_128:new():hash(ffi.cast("char *", text), #text, seed)
  return bit.tohex(h.u64[0]) .. bit.tohex(h.u64[1])
end

describe("lib.hash.murmur", function ()
  for _, mode in ipairs{"on", "off"} do
    it("passes SMHasher's verification, JIT " .. mode, function ()
      jit[mode]()
      local short = verification(murmur.MurmurHash3_x86_32:new())
      local long = verification(murmur.MurmurHash3_x64_128:new())
      jit.on()
      assert.equal(0xb0f57ee3, short)
      assert.equal(0x6384ba69, long)
    end)
  end

  it("gives the published 32-bit hashes", function ()
    assert.equal("00000000", hex_32("", 0))
    assert.equal("514e28b7", hex_32("", 1))
    assert.equal("81f16f39", hex_32("", 0xffffffff))
    assert.equal("81f16f39", hex_32("", 0xffffffffffffffffULL))
    assert.equal("76293b50", hex_32("\255\255\255\255"))
    assert.equal("f55b516b", hex_32("\33\67\101\135"))
    assert.equal("2362f9de", hex_32("\33\67\101\135", 0x5082edee))
    assert.equal("7e4a8634", hex_32("\33\67\101"))
    assert.equal("a0f7b07a", hex_32("\33\67"))
    assert.equal("72661cf4", hex_32("\33"))
    assert.equal("24884cba", hex_32("Hello, world!", 0x9747b28c))
    assert.equal("2fa826cd",
      hex_32("The quick brown fox jumps over the lazy dog", 0x9747b28c))
  end)

  it("gives the published 128-bit hashes", function ()
    assert.equal(("0"):rep(32), hex_128(""))
    assert.equal("cbd8a7b341bd9b025b1e906a48ae1d19", hex_128("hello"))
    assert.equal("342fac623a5ebc8e4cdcbc079642414d", hex_128("hello, world"))
    assert.equal("e34bbc7bbc071b6c7a433ca9c49a9347",
      hex_128("The quick brown fox jumps over the lazy dog"))
  end)

  it("hashes no byte beyond the length", function ()
    local data = ffi.new("uint8_t[64]")
    for _, class in pairs(murmur) do
      local hash = class:new()
      for length = 0, 40 do
        ffi.fill(data, 64, 7)
        local before = ffi.string(hash:hash(data, length), hash:size() / 8)
        ffi.fill(data + length, 64 - length, 0xff)
        assert.equal(before, ffi.string(hash:hash(data, length), hash:size() / 8))
      end
    end
  end)

  it("sees what was written just before", function ()
    local data = ffi.new("uint8_t[4]")
    local hash = murmur.MurmurHash3_x86_32:new()
    local last
    for i = 1, 300 do
      data[0] = bit.band(i, 1)
      local now = hash:hash(data, 4).u32[0]
      assert.is_true(now ~= last)
      last = now
    end
  end)
end)

describe("lib.hash.base", function ()
  it("is derived from, with a size of whole words", function ()
    local class = require("lib.lua.class").subClass(base)
    assert.has_error(function () class:new() end)
    class._size, class._name = 96, "mine"
    local hash = class:new()
    assert.same({96, "mine", 12}, {hash:size(), hash:name(), ffi.sizeof(hash.h)})
    assert.not_equal(hash.h, class:new().h)
    assert.has_error(function () base:new() end,
      "lib.hash.base has no objects: derive a class")
  end)
end)
