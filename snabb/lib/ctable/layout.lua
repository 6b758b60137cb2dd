-- SPDX-License-Identifier: Apache-2.0
-- What an entry of a hash table is in memory: Snabb's, for saved tables and code that
-- reads entries. Its size is a power of two.

local ffi = require("ffi")

local layout = {}

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
