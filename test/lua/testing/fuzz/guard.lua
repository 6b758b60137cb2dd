-- SPDX-License-Identifier: Apache-2.0
-- A packet between two pages that may not be touched, for fuzzing: it ends exactly at
-- the one after it, or begins at the one before it, so that a read or write outside
-- kills the process (SIGSEGV).

local ffi = require("ffi")

require("core.packet")

ffi.cdef[[
void *mmap(void *address, size_t length, int protection, int flags, int fd,
           int64_t offset);
int munmap(void *address, size_t length);
int mprotect(void *address, size_t length, int protection);
int memcmp(const void *a, const void *b, size_t length);
]]

local PAGE = 4096
local ROOM = 4 * PAGE -- bytes between the guard pages
local PROT_NONE, PROT_READ_WRITE = 0, 3
local MAP_SHARED_ANONYMOUS, MAP_PRIVATE_ANONYMOUS = 0x21, 0x22

local OUTSIDE = 0xa5
local pattern = ffi.new("uint8_t[?]", ROOM)
ffi.fill(pattern, ROOM, OUTSIDE)

local guard = {ROOM = ROOM}

local function map(size, protection, flags)
  local memory = ffi.C.mmap(nil, size, protection, flags, -1, 0)
  assert(ffi.cast("intptr_t", memory) ~= -1, "there is no memory")
  return memory
end

--- Memory that child processes share: `count` of uint32_t, all 0.
function guard.shared(count)
  local memory = map(count * 4, PROT_READ_WRITE, MAP_SHARED_ANONYMOUS)
  return ffi.cast("uint32_t *", memory)
end

--- A packet of its own memory, to be placed with place().
function guard.packet()
  local memory = map(ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE_ANONYMOUS)
  local room = ffi.cast("uint8_t *", memory) + PAGE
  assert(ffi.C.mprotect(room, ROOM, PROT_READ_WRITE) == 0)
  -- DPDK's mbufs begin at multiples of 64, which ffi.new() doesn't see to.
  local p = ffi.cast("struct packet *", map(PAGE, PROT_READ_WRITE,
    MAP_PRIVATE_ANONYMOUS))
  p.buf_addr, p.buf_len = room, ROOM
  return p
end

--- Give back such a packet.
function guard.free(p)
  ffi.C.munmap(p.buf_addr - PAGE, ROOM + 2 * PAGE)
  ffi.C.munmap(p, PAGE)
end

--- Make `p` hold the `length` bytes (0 to ROOM) from `bytes` (uint8_t *) on, ending at
--- the page after it, or beginning at the one before it if `front`. The rest of the
--- room gets a pattern.
function guard.place(p, bytes, length, front)
  ffi.copy(p.buf_addr, pattern, ROOM)
  p.data_off = front and 0 or ROOM - length
  p.length, p.pkt_len = length, length
  ffi.copy(p.buf_addr + p.data_off, bytes, length)
end

--- Is all but the `length` bytes that place() made the packet still as it left it?
function guard.untouched(p, length)
  local start = p.data_off == 0 and length or 0
  return ffi.C.memcmp(p.buf_addr + start, pattern, ROOM - length) == 0
end

return guard
