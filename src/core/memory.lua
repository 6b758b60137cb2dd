-- SPDX-License-Identifier: Apache-2.0
-- Memory that devices can reach, from DPDK's heap.

local ffi = require("ffi")
local C = require("core.native")
local eal = require("core.eal")
local failure = require("core.failure")

local memory = {}

--- Bytes of a page of the kernel's default huge size (/proc/meminfo).
function memory.get_huge_page_size()
  for line in io.lines("/proc/meminfo") do
    local kb = line:match("^Hugepagesize:%s+(%d+) kB")
    if kb then return tonumber(kb) * 1024 end
  end
  return 2 * 1024 * 1024 -- the kernel has none; the size they'd have on x86-64
end

--- The same as a number, and as the logarithm to base 2; bytes of a plain page.
memory.huge_page_size = memory.get_huge_page_size()
memory.huge_page_bits = math.log(memory.huge_page_size) / math.log(2)
memory.base_page_size = 4096

local function is_whole(n)
  return type(n) == "number" and n >= 1 and n % 1 == 0 and n < 2 ^ 53
end

local function check_size(bytes, align)
  if not is_whole(bytes) then
    failure.raise("can't allocate %s bytes: ask for a whole number from 1 on",
      tostring(bytes))
  end
  if not is_whole(align) or math.frexp(align) ~= 0.5 or align > 2 ^ 30 then
    failure.raise("can't align to %s bytes: ask for a power of two up to 2^30",
      tostring(align))
  end
end

--- Allocate `bytes` of zeroed memory aligned to `align` (a power of two,
--- default 128). Returns pointer, physical address, bytes.
function memory.dma_alloc(bytes, align)
  check_size(bytes, align or 128)
  eal.start()
  local physical = ffi.new("uint64_t[1]")
  local pointer = C.pg_dma_alloc(bytes, align or 128, physical)
  if pointer == nil then failure.raise("%s", ffi.string(C.pg_error())) end
  return ffi.cast("char *", pointer), physical[0], bytes
end

local BAD_ADDRESS = 0xffffffffffffffffULL -- RTE_BAD_IOVA

--- The physical (or IO virtual) address of memory from dma_alloc.
function memory.virtual_to_physical(pointer)
  local physical = C.pg_physical(pointer)
  if pointer == nil or physical == BAD_ADDRESS then
    failure.raise("%s is no memory of dma_alloc", tostring(pointer))
  end
  return physical
end

return memory
