-- SPDX-License-Identifier: Apache-2.0
-- MoonGen's module `hmap`: hash maps that tasks share (net/flow/shared.c). Keys have 8,
-- 16, 32 or 64 bytes, values these or 128. An accessor holds one entry, which other
-- tasks wait for: each task has its own.

local ffi = require("ffi")
local C = require("core.declare")("net/flow/shared.h")
local log = require("moongen.log")

local hmap = {}

local KEYS, VALUES = {8, 16, 32, 64}, {8, 16, 32, 64, 128}

local map_ptr = ffi.typeof("struct flow_shared *")

-- The methods of maps of these sizes, and of their accessors.
local function methods(key_size, value_size)
  local map, accessor = {}, {}

  local function raw(self) return ffi.cast(map_ptr, self) end

  --- Hold the entry of the key (key_size bytes at a pointer); one of zeros is made if
  --- there is none: then true.
  function map:access(a, key)
    local result = C.pg_flow_shared_hold(raw(self), a.held, key, true)
    if result == C.FLOW_NO_ROOM then error("the hash map has no room left", 2) end
    return result == C.FLOW_ADDED
  end

  --- Hold it if there is one.
  function map:find(a, key)
    return C.pg_flow_shared_hold(raw(self), a.held, key, false) == C.FLOW_FOUND
  end

  --- Remove what the accessor holds. False if it is gone already.
  function map:erase(a)
    if a.held[0].number == 0 then error("erase: the accessor holds nothing", 2) end
    return C.pg_flow_shared_erase(raw(self), a.held)
  end

  --- Remove entries that nobody holds and whose value begins with a number (uint64_t)
  --- below the threshold; how many.
  function map:clean(threshold) return C.pg_flow_shared_clean(raw(self), threshold) end

  function map:clear() C.pg_flow_shared_clear(raw(self)) end
  function map:delete() C.pg_flow_shared_free(raw(self)) end
  function map.newAccessor()
    return ffi.new(("struct hmapk%dv%d_accessor"):format(key_size, value_size))
  end
  function map.keyBufSize() return key_size end
  function map.valueSize() return value_size end

  --- The value that is held (uint8_t *, value_size bytes).
  function accessor:get()
    local value = C.pg_flow_shared_value(self.held)
    if value == nil then error("get: the accessor holds nothing", 2) end
    return value
  end

  --- Let go of it.
  function accessor:release() C.pg_flow_shared_release(self.held) end
  accessor.free = accessor.release
  return map, accessor
end

local function declare(key_size, value_size)
  local name = ("hmapk%dv%d"):format(key_size, value_size)
  ffi.cdef((([[
    typedef struct NAME { int unused; } NAME;
    typedef struct NAME_accessor { struct flow_hold held[1]; } NAME_accessor;
  ]]):gsub("NAME", name)))
  local map, accessor = methods(key_size, value_size)
  map.__index, accessor.__index = map, accessor
  ffi.metatype(name, map)
  ffi.metatype(name .. "_accessor", accessor)
end

for _, key_size in ipairs(KEYS) do
  for _, value_size in ipairs(VALUES) do declare(key_size, value_size) end
end

-- The least of the sizes that is enough.
local function fitting(what, sizes, wanted)
  for _, size in ipairs(sizes) do
    if wanted <= size then return size end
  end
  log:fatal("a hash map's %s has up to %d bytes, not %s", what, sizes[#sizes],
    tostring(wanted))
end

--- A map for keys and values of up to so many bytes, which lives until delete().
function hmap.createHashmap(key_size, value_size)
  key_size = fitting("key", KEYS, key_size)
  value_size = fitting("value", VALUES, value_size)
  local map = C.pg_flow_shared_new(key_size, value_size)
  if map == nil then error("no memory for a hash map", 2) end
  return ffi.cast(("hmapk%dv%d *"):format(key_size, value_size), map)
end

--- The bytes of the largest key of a list of maps.
function hmap.getLargestKeyBufSize(maps)
  local most
  for _, map in ipairs(maps) do most = math.max(most or 0, map.keyBufSize()) end
  return most
end

return hmap
