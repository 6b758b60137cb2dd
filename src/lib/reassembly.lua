-- SPDX-License-Identifier: Apache-2.0
-- Datagrams being put together from their fragments, for IPv4 and IPv6. Bounded: so
-- many datagrams, so many fragments each, each in a buffer of its own; the buffers are
-- one piece of address space, of which the kernel gives what is touched. Fragments
-- that overlap end the datagram (RFC 5722, section 4); repeated ones are ignored.
--
-- A buffer holds the headers of the first fragment right before the place of its
-- payload, which is the same in all buffers: other fragments may come before it.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local packet = require("core.packet")
local slots = require("lib.slots")

ffi.cdef[[
void *mmap(void *address, size_t length, int protection, int flags, int fd,
           int64_t offset);
int munmap(void *address, size_t length);
]]

local PROT_READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE = 3, 0x4022 -- <sys/mman.h>
local PAYLOAD = 80 -- where it begins in a buffer: behind the longest headers
local BUFFER = 10368 -- bytes of a buffer: PAYLOAD + packet.max_payload, and a bit
local LONGEST = packet.max_payload

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

--- For up to `datagrams` at a time, of up to `fragments` fragments each, told apart by
--- keys of `key_size` bytes; `timeout` in seconds.
local function new(key_size, datagrams, fragments, timeout)
  local self = setmetatable({
    timeout = timeout, slots = slots.new(key_size, datagrams),
    datagrams = ffi.new("struct datagram[?]", datagrams),
    ranges = ffi.new("struct fragment_range[?]", datagrams * fragments),
    buffers = address_space(datagrams * BUFFER),
    scan = 0, -- the next place of the slots that expire() looks at
  }, Reassembly)
  self.memory = ffi.new("struct reassembly", {
    datagrams = self.datagrams, ranges = self.ranges, buffers = self.buffers,
    fragments = fragments, buffer_size = BUFFER, payload = PAYLOAD, longest = LONGEST,
  })
  return self
end

--- The slot of the datagram that the key (a pointer) names, a new one if need be; and
--- whether another datagram was given up for it.
function Reassembly:open(key, now)
  local slot = self.slots:find(key)
  if slot >= 0 then return slot, false end
  local new_slot, evicted = self.slots:add(key)
  local d = self.datagrams[new_slot]
  d.since, d.present, d.total, d.headers, d.count = now, 0, -1, 0, 0
  return new_slot, evicted
end

--- Forget the datagram.
function Reassembly:close(slot)
  self.slots:remove(slot)
end

--- Add the `size` bytes at `payload`, which belong at `first` (a multiple of 8) of the
--- datagram's payload; `more` tells whether others follow. `headers` bytes at
--- `headers_at` go before the payload if first is 0. COMPLETE, PENDING, or INVALID.
function Reassembly:add(slot, payload, first, size, more, headers_at, headers)
  return (C.pg_reassembly_add(self.memory, slot, payload, first, size, more,
    headers_at, headers))
end

--- A packet of the complete datagram, its headers those of the first fragment.
function Reassembly:packet(slot)
  local d = self.datagrams[slot]
  return packet.from_pointer(self.buffers + slot * BUFFER + PAYLOAD - d.headers,
    d.headers + d.total)
end

--- Look at up to `most` datagrams, and give up those older than the timeout; how many
--- that were.
function Reassembly:expire(now, most)
  local map, expired = self.slots, 0
  for _ = 1, math.min(most, map.count) do
    if self.scan == 0 then self.scan = map.count end
    self.scan = math.min(self.scan, map.count) - 1
    local slot = map:at(self.scan)
    if now - self.datagrams[slot].since > self.timeout then
      map:remove(slot)
      expired = expired + 1
    end
  end
  return expired
end

return {
  new = new, PENDING = C.REASSEMBLY_PENDING, COMPLETE = C.REASSEMBLY_COMPLETE,
  INVALID = C.REASSEMBLY_INVALID,
}
