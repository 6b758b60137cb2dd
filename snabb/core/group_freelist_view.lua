-- SPDX-License-Identifier: Apache-2.0
-- Lists of free packets that processes of Snabb's share (core.group_freelist of a
-- checkout), to look at. Perigee has none of its own.

local ffi = require("ffi")
local shm = require("core.shm")

-- What is added to and what is removed from are a cache line apart.
local head_t = ffi.typeof[[struct {
  uint64_t enqueue_pos; uint8_t pad_enqueue_pos[56];
  uint64_t dequeue_pos; uint8_t pad_dequeue_pos[56];
  uint32_t size, state;
}]]
local head_p = ffi.typeof("$ *", head_t)
local CHUNK = 2048 -- packets at most

local group_freelist = {}

shm.register("group_freelist", group_freelist)

--- Map the head of the list `name`, to read it.
function group_freelist.open(name)
  return shm.open(name, head_t, "readonly")
end

ffi.metatype(head_t, {__tostring = function (list)
  local chunks = tonumber(list.enqueue_pos - list.dequeue_pos)
  return ("%d/%d"):format(chunks * CHUNK, list.size * CHUNK)
end})

--- For core.shm.view.
group_freelist.view = {
  bytes = ffi.sizeof(head_t),
  read = function (bytes)
    return tostring(ffi.cast(head_p, ffi.cast("const char *", bytes)))
  end,
}

return group_freelist
