-- SPDX-License-Identifier: Apache-2.0
-- Datagrams being put together from their fragments, for IPv4 and IPv6. Bounded: so
-- many datagrams, so many fragments each, each in a buffer of its own; the buffers are
-- one piece of address space, of which the kernel gives what is touched.

local ffi = require("ffi")
local C = require("core.declare")("net/fragment/fragment.h")
local failure = require("core.failure")
local flow = require("net.flow.flow")
local packet = require("core.packet")

ffi.cdef[[
void *mmap(void *address, size_t length, int protection, int flags, int fd,
           int64_t offset);
int munmap(void *address, size_t length);
]]

local PROT_READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE = 3, 0x4022 -- <sys/mman.h>
local SECOND = 1e6 -- in the table's units
local LINE = 64 -- bytes; a buffer is a multiple of it

local Reassembly = {}
Reassembly.__index = Reassembly

local function address_space(bytes)
  local memory = ffi.C.mmap(nil, bytes, PROT_READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE,
    -1, 0)
  if ffi.cast("intptr_t", memory) == -1 then
    failure.raise("there is no address space for reassembly: %d bytes", bytes)
  end
  return ffi.gc(ffi.cast("uint8_t *", memory), function (pointer)
    ffi.C.munmap(pointer, bytes)
  end)
end

--- For up to `datagrams` at a time, of up to `fragments` fragments each, with keys of
--- the C type `key`; when there is no room for another the oldest makes it. `timeout`
--- in seconds.
local function new(key, datagrams, fragments, timeout)
  local buffer = ffi.sizeof("struct datagram") + fragments
    * ffi.sizeof("struct fragment_range") + C.FRAGMENT_HEADERS + packet.max_payload
  buffer = math.ceil(buffer / LINE) * LINE
  local table = flow.new{key = key, limit = datagrams, full = "evict", ages = {0}}
  local buffers = address_space(datagrams * buffer)
  return setmetatable({
    timeout = timeout, table = table, buffers = buffers,
    memory = ffi.new("struct reassembly", {
      table = table.table, buffers = buffers, buffer = buffer, fragments = fragments,
      longest = packet.max_payload}),
  }, Reassembly)
end

--- How many datagrams wait for fragments.
function Reassembly:count() return self.table:count() end

--- Add to the datagram that the key (a pointer) names the `size` bytes at `payload`,
--- which belong at `first` (a multiple of 8) of its payload; `more`: others follow.
--- `headers` bytes at `headers_at` go before the payload if first is 0. `now`: seconds.
--- COMPLETE, PENDING, or INVALID, and whether another datagram was given up for it.
function Reassembly:add(key, now, payload, first, size, more, headers_at, headers)
  local memory = self.memory
  local result = C.pg_reassembly_add(memory, key, now * SECOND, payload, first, size,
    more, headers_at, headers)
  return result, memory.evicted
end

--- A packet of the datagram that was completed last, its headers those of the first
--- fragment.
function Reassembly:packet()
  return packet.from_pointer(self.memory.whole, self.memory.length)
end

--- Give up to `most` datagrams up that are older than the timeout; how many there were.
function Reassembly:expire(now, most)
  return self.table:expire((now - self.timeout) * SECOND, most)
end

return {
  new = new, PENDING = C.REASSEMBLY_PENDING, COMPLETE = C.REASSEMBLY_COMPLETE,
  INVALID = C.REASSEMBLY_INVALID,
}
