-- SPDX-License-Identifier: Apache-2.0
-- A list of free packets that several processes share: a ring of chunks of packet
-- pointers in shared memory. Any process adds and removes chunks without a lock, as in
-- Dmitry Vyukov's bounded queue of many producers and consumers.

local ffi = require("ffi")
local bit = require("bit")
local failure = require("core.failure")
local shm = require("core.shm")
local sync = require("core.sync")
local waitfor = require("core.lib.wait").waitfor

local DEFAULT_SIZE = 1024 -- chunks
local NEW, BEING_MADE, READY = 0, 1, 2 -- states; a new object is zeros

local group_freelist = {}

--- The most packets a chunk holds.
group_freelist.chunksize = 2048

-- A chunk's sequence says whose turn it is: at position p of the ring it is p when the
-- chunk can be filled, p + 1 when it can be emptied, and p + size in the next round.
-- What is added to and what is removed from are a cache line apart.
ffi.cdef(([[
  struct packet;
  struct group_freelist_chunk {
    uint64_t sequence[1];
    uint32_t nfree, pad;
    struct packet *list[%d];
  } __attribute__((packed));
  struct group_freelist {
    uint64_t enqueue_pos[1], enqueue_mask;
    uint8_t pad_enqueue_pos[48];
    uint64_t dequeue_pos[1], dequeue_mask;
    uint8_t pad_dequeue_pos[48];
    uint32_t size, state[1];
    struct group_freelist_chunk chunk[?];
  } __attribute__((packed, aligned(64)));
]]):format(group_freelist.chunksize))

local NAME = "struct group_freelist"
local state_t = ffi.typeof("int32_t *")

local function set_state(list, old, new)
  return sync.cas(ffi.cast(state_t, list.state), old, new)
end

--- Map the list `name`, once the process that makes it has done so; only to look at
--- if `readonly`. Raises a failure if there is none.
function group_freelist.freelist_open(name, readonly)
  local head = shm.open(name, NAME, "read-only", 0)
  waitfor(function () return sync.load(head.state) == READY end)
  local size = head.size
  shm.unmap(head)
  return shm.open(name, NAME, readonly, size)
end

--- Make the list `name` with room for `size` chunks (a power of two, default 1024), or
--- open the one there is, whose size stays.
function group_freelist.freelist_create(name, size)
  size = size or DEFAULT_SIZE
  if size < 1 or bit.band(size, size - 1) ~= 0 then
    failure.usage("a group freelist of %s chunks can't be: give a power of two",
      tostring(size))
  end
  local list = shm.create(name, NAME, size)
  if not set_state(list, NEW, BEING_MADE) then
    shm.unmap(list)
    return group_freelist.freelist_open(name)
  end
  list.size = size
  list.enqueue_mask, list.dequeue_mask = size - 1, size - 1
  for i = 0, size - 1 do list.chunk[i].sequence[0] = i end
  set_state(list, BEING_MADE, READY)
  return list
end

-- How far the chunk's sequence is ahead of `position`.
local function ahead(chunk, position)
  return ffi.cast("int64_t", sync.load64(chunk.sequence) - position)
end

--- Take an empty chunk: the chunk, to be filled (list, nfree), and the number to call
--- finish with. Nil if all are full, or in others' hands.
function group_freelist.start_add(list)
  local mask = list.enqueue_mask
  while true do
    local position = sync.load64(list.enqueue_pos)
    local chunk = list.chunk[bit.band(position, mask)]
    local turn = ahead(chunk, position)
    if turn < 0 then return nil end
    if turn == 0 and sync.cas64(list.enqueue_pos, position, position + 1) then
      return chunk, position + 1
    end
  end
end

--- Take the chunk that was added first: the chunk, to be emptied, and the number to
--- call finish with. Nil if there is none, or it isn't finished.
function group_freelist.start_remove(list)
  local mask = list.dequeue_mask
  while true do
    local position = sync.load64(list.dequeue_pos)
    local chunk = list.chunk[bit.band(position, mask)]
    local turn = ahead(chunk, position + 1)
    if turn < 0 then return nil end
    if turn == 0 and sync.cas64(list.dequeue_pos, position, position + 1) then
      return chunk, position + mask + 1
    end
  end
end

--- Give the chunk back, with the number that start_add or start_remove returned: what
--- was written to it is there for others.
function group_freelist.finish(chunk, number)
  local given_back = sync.cas64(chunk.sequence, chunk.sequence[0], number)
  if not given_back then error("the chunk is in another process's hands", 2) end
end

ffi.metatype(NAME, {__tostring = function (list)
  local chunks = tonumber(list.enqueue_pos[0] - list.dequeue_pos[0])
  local packets = group_freelist.chunksize
  return ("%d/%d"):format(chunks * packets, list.size * packets)
end})

local list_p = ffi.typeof(NAME .. " *")

--- For core.shm.view: text.
group_freelist.view = {
  bytes = ffi.offsetof(NAME, "chunk"),
  read = function (bytes)
    return tostring(ffi.cast(list_p, ffi.cast("const char *", bytes)))
  end,
}

shm.register("group_freelist",
  {open = group_freelist.freelist_open, view = group_freelist.view})

return group_freelist
