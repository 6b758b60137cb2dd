-- SPDX-License-Identifier: Apache-2.0
-- A reserve of memory mappings, of which a process has so many (vm.max_map_count).
-- Each shared object takes one: where there are more objects than that, they would
-- leave none for LuaJIT, which can't go on without. Once no more can be had, the
-- reserve is given up for that, and no further object is mapped until one is unmapped.

local ffi = require("ffi")

ffi.cdef [[
  void *mmap(void *address, size_t length, int protection, int flags, int fd,
             int64_t offset);
  int munmap(void *address, size_t length);
  int mprotect(void *address, size_t length, int protection);
]]
local C = ffi.C

local reserve = {}

local PAGE = 4096
local MAPPINGS = 128
-- <sys/mman.h>
local PROT_NONE, PROT_READ = 0, 1
local MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE = 0x2, 0x20, 0x4000
local MAP_FAILED = ffi.cast("void *", -1)

local held -- the address of the reserve; false: given up
local exhausted = false

-- Pages beside each other of which every second may be read are a mapping each.
local function hold()
  local flags = MAP_PRIVATE + MAP_ANONYMOUS + MAP_NORESERVE
  local memory = C.mmap(nil, MAPPINGS * PAGE, PROT_NONE, flags, -1, 0)
  held = memory ~= MAP_FAILED and memory
  for i = 0, held and MAPPINGS - 1 or -1, 2 do
    C.mprotect(ffi.cast("char *", held) + i * PAGE, PAGE, PROT_READ)
  end
end

--- May another object be mapped? Called before each.
function reserve.allows()
  if held == nil then hold() end
  return not exhausted
end

--- There is no mapping to be had any more.
function reserve.exhausted()
  if held then C.munmap(held, MAPPINGS * PAGE) end
  held, exhausted = false, true
end

--- An object has been unmapped.
function reserve.unmapped() exhausted = false end

return reserve
