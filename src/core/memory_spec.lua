-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local memory = require("core.memory")

local function address(pointer)
  return tonumber(ffi.cast("uintptr_t", pointer))
end

describe("memory.dma_alloc", function ()
  it("gives zeroed, aligned memory and its length", function ()
    for _, align in ipairs{64, 128, 512, 4096, 65536} do
      local pointer, physical, bytes = memory.dma_alloc(1000, align)
      assert.equal(1000, bytes)
      assert.equal(0, address(pointer) % align)
      assert.equal(("\0"):rep(1000), ffi.string(pointer, 1000))
      assert.equal(physical, memory.virtual_to_physical(pointer))
      ffi.fill(pointer, 1000, 255)
    end
    assert.equal(0, address((memory.dma_alloc(1))) % 128)
  end)

  it("gives pieces that don't overlap", function ()
    local a, b = memory.dma_alloc(4096), memory.dma_alloc(4096)
    assert.is_true(math.abs(address(a) - address(b)) >= 4096)
  end)

  it("refuses sizes and alignments that can't be", function ()
    for _, bytes in ipairs{0, -1, 0 / 0, 1.5, "x"} do
      local ok, err = pcall(memory.dma_alloc, bytes)
      assert.is_false(ok)
      assert.matches("can't allocate .* bytes: ask for a whole number", tostring(err))
    end
    for _, align in ipairs{0, 3, -128, 1.5, 100} do
      local ok, err = pcall(memory.dma_alloc, 100, align)
      assert.is_false(ok)
      assert.matches("align to .*power of two", tostring(err))
    end
    local ok, err = pcall(memory.dma_alloc, 2 ^ 50)
    assert.is_false(ok)
    assert.matches("DPDK has no 1125899906842624 bytes", tostring(err))
  end)
end)

describe("memory.virtual_to_physical", function ()
  it("refuses what has no physical address", function ()
    local ok, err = pcall(memory.virtual_to_physical, ffi.cast("void *", 0))
    assert.is_false(ok)
    assert.matches("no memory of dma_alloc", tostring(err))
  end)

  it("tells the size of huge pages as the kernel does", function ()
    local pipe = io.popen("grep Hugepagesize /proc/meminfo")
    local kb = tonumber(pipe:read("*a"):match("%d+") or 2048)
    pipe:close()
    assert.equal(kb * 1024, memory.get_huge_page_size())
    assert.equal(memory.huge_page_size, 2 ^ memory.huge_page_bits)
  end)
end)
