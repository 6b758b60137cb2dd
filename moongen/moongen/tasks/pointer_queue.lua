-- SPDX-License-Identifier: Apache-2.0
-- Queues of pointers that any number of tasks write and read: what pipes are made of.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local locks = require("moongen.locks")

local queue = {}

ffi.cdef[[
struct mg_pipe {
  struct lock lock;
  void **slots;
  int32_t size, first;
  int32_t count; /* read without the lock: is there anything at all? */
  int32_t asked; /* the size it was made with */
};
]]

--- A queue for `size` pointers.
function queue.new(size)
  local q = locks.memory("struct mg_pipe")
  locks.prepare(q.lock)
  q.asked = math.max(size, 1)
  q.size, q.slots = q.asked, locks.memory("void *", q.asked)
  return q
end

function queue.free(q)
  locks.free(q.slots)
  locks.free(q)
end

-- Twice the room; the first pointer is at the beginning then.
local function grow(q)
  local slots, behind = locks.memory("void *", 2 * q.size), q.size - q.first
  ffi.copy(slots, q.slots + q.first, behind * ffi.sizeof("void *"))
  ffi.copy(slots + behind, q.slots, q.first * ffi.sizeof("void *"))
  locks.free(q.slots)
  q.slots, q.first, q.size = slots, 0, 2 * q.size
end

--- Put a pointer in: false if there is no room, and it isn't to `grow`.
function queue.put(q, pointer, may_grow)
  pointer = ffi.cast("void *", pointer)
  q.lock:lock()
  local n = q.count
  local fits = n < (may_grow and q.size or q.asked)
  if not fits and may_grow then grow(q) end
  if fits or may_grow then
    q.slots[(q.first + n) % q.size] = pointer
    q.count = n + 1
  end
  q.lock:unlock()
  return fits or may_grow
end

--- The first pointer, or nil.
function queue.take(q)
  C.mg_give_wanted_caches()
  if q.count == 0 then return nil end
  local pointer
  q.lock:lock()
  if q.count > 0 then
    pointer = q.slots[q.first]
    q.first, q.count = (q.first + 1) % q.size, q.count - 1
  end
  q.lock:unlock()
  return pointer
end

return queue
