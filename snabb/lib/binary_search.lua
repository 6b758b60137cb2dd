-- SPDX-License-Identifier: Apache-2.0
-- Search of sorted arrays without branches to mispredict. Snabb's hash tables and
-- range maps look up with it.

local ffi = require("ffi")
local C = require("core.declare")("native/snabb.h")

local binary_search = {}

--- A function (entries, key) for arrays of `count` entries of the C type
--- `entry_type`, each of which begins with its key, a uint32_t, and sorted by it:
--- a pointer to the first entry whose key isn't less than `key`, or to the last.
function binary_search.gen(count, entry_type)
  if count < 1 then
    error(("can't search %s entries; give 1 or more"):format(tostring(count)), 2)
  end
  local pointer = ffi.typeof("$ *", entry_type)
  local size = ffi.sizeof(entry_type)
  return function (entries, key)
    return ffi.cast(pointer, C.pg_binary_search(entries, count, size, key))
  end
end

return require("core.lib.arguments").guard(binary_search, "binary_search",
  {gen = "number, ctype"})
