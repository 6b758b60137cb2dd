-- SPDX-License-Identifier: Apache-2.0
-- Free lists of Snabb's processes in shared memory, to look at: {nfree, max, packets}.
-- Perigee's own aren't shared (core.pool).

local ffi = require("ffi")
local shm = require("core.shm")

local head_t = ffi.typeof("struct { int32_t nfree, max; }")
local head_p = ffi.typeof("$ *", head_t)

local freelist = {}

freelist.type = shm.register("freelist", freelist)

--- Map the head of the list `name`, to read it.
function freelist.open(name)
  return shm.open(name, head_t, "readonly")
end

ffi.metatype(head_t, {__tostring = function (list)
  return ("%d/%d"):format(list.nfree, list.max)
end})

--- For core.shm.view.
freelist.view = {
  bytes = ffi.sizeof(head_t),
  read = function (bytes)
    return tostring(ffi.cast(head_p, ffi.cast("const char *", bytes)))
  end,
}

return freelist
