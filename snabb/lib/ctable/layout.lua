-- SPDX-License-Identifier: Apache-2.0
-- What an entry of a hash table is in memory: Snabb's, for saved tables and code that
-- reads entries. Its size is a power of two.

local ffi = require("ffi")

local layout = {}

-- What ffi.typeinfo says of a C type (lj_ctype.h): `info` has its kind and, in the
-- lower half, a child's number; `size` is a field's offset, too.
local STRUCT, ARRAY, TYPEDEF, ATTRIBUTE, FIELD, BITFIELD = 1, 3, 7, 8, 9, 10
local function kind_of(t) return bit.rshift(t.info, 28) end
local function child_of(t) return bit.band(t.info, 0xffff) end
local function container_bytes(t) return bit.band(bit.rshift(t.info, 16), 0x7f) end

local function resolved(id)
  local t = ffi.typeinfo(id)
  while kind_of(t) == TYPEDEF or kind_of(t) == ATTRIBUTE do
    t = ffi.typeinfo(child_of(t))
  end
  return t
end

local function mark_bytes(used, first, count)
  for i = first, first + count - 1 do used[i] = true end
end

-- Mark in `used` the bytes that have a meaning in a type of this number at `offset`.
local function mark(used, id, offset)
  local t = resolved(id)
  if kind_of(t) == ARRAY then
    local bytes = resolved(child_of(t)).size
    for i = 0, t.size - bytes, bytes do mark(used, child_of(t), offset + i) end
  elseif kind_of(t) == STRUCT then
    local field = t.sib and ffi.typeinfo(t.sib)
    while field do
      local kind, first = kind_of(field), offset + (field.size or 0)
      if kind == FIELD or kind == ATTRIBUTE then mark(used, child_of(field), first) end
      if kind == BITFIELD then mark_bytes(used, first, container_bytes(field)) end
      field = field.sib and ffi.typeinfo(field.sib)
    end
  else
    mark_bytes(used, offset, t.size)
  end
end

--- The offsets of the bytes of the C type that are padding: they keep what was there
--- before, so that keys that are equal field by field may differ in them.
function layout.padding(ctype)
  local used, padding = {}, {}
  mark(used, tonumber(ctype), 0)
  for i = 0, ffi.sizeof(ctype) - 1 do
    if not used[i] then padding[#padding + 1] = i end
  end
  return padding
end

-- LuaJIT keeps every C type for good, so each is made once.
local entry_types = {}

--- The C type of entries of these two C types: fields hash, key and value.
function layout.entry_type(key_type, value_type)
  local of_key = entry_types[key_type]
  if not of_key then
    of_key = {}
    entry_types[key_type] = of_key
  end
  if not of_key[value_type] then
    local bytes = 4 + ffi.sizeof(key_type) + ffi.sizeof(value_type)
    local size = 1
    while size < bytes do size = size * 2 end
    of_key[value_type] = ffi.typeof([[struct {
        uint32_t hash; $ key; $ value; uint8_t padding[$];
      } __attribute__((packed))]], key_type, value_type, size - bytes)
  end
  return of_key[value_type]
end

--- How keys of the C type are hashed and compared: "CTABLE_BYTES", or if they are
--- numbers "CTABLE_UNSIGNED", "CTABLE_SIGNED" or "CTABLE_FLOAT"
--- (snabb/native/ctable.c).
function layout.key_kind(key_type)
  if not tonumber(ffi.new(key_type)) then return "CTABLE_BYTES" end
  if tonumber(ffi.new(key_type, 0.5)) ~= 0 then return "CTABLE_FLOAT" end
  return tonumber(ffi.new(key_type, -1)) < 0 and "CTABLE_SIGNED" or "CTABLE_UNSIGNED"
end

return layout
