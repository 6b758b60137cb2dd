-- SPDX-License-Identifier: Apache-2.0
-- Memory that devices can reach, from DPDK's heap.

local ffi = require("ffi")
local C = require("core.native")
local eal = require("core.eal")
local failure = require("core.failure")

local memory = {}

--- Bytes of the hugepages DPDK uses, or of an ordinary page without them.
memory.huge_page_size = 2 * 1024 * 1024

--- Allocate `bytes` of zeroed memory aligned to `align` (a power of two,
--- default 128). Returns pointer, physical address, bytes.
function memory.dma_alloc(bytes, align)
  eal.start()
  local physical = ffi.new("uint64_t[1]")
  local pointer = C.pg_dma_alloc(bytes, align or 128, physical)
  if pointer == nil then failure.raise("%s", ffi.string(C.pg_error())) end
  return ffi.cast("char *", pointer), physical[0], bytes
end

--- The physical (or IO virtual) address of memory from dma_alloc.
function memory.virtual_to_physical(pointer)
  return C.pg_physical(pointer)
end

return memory
