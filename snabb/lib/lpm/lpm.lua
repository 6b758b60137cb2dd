-- SPDX-License-Identifier: Apache-2.0
-- Objects with C arrays that grow, and that can be written to memory and read from it
-- (Snabb's lib.lpm.lpm): what the tables of longest prefix matches are made of.

local ffi = require("ffi")

local LPM = {}

-- Elements behind those that an array is said to have. Snabb's programs write
-- `t.name[t.name_new()] = value`, where Lua reads t.name first: whenever NAME_new makes
-- it grow, the value goes behind the end of the old array, which malloc's slack bears.
local SLACK = 1

function LPM:new()
  return setmetatable({}, {__index = self})
end

--- Give the object an array `name` of `count` elements, all 0, whose first new one is
--- `first` (0). And, as methods: NAME_new() is an index that is free, NAME_free(index)
--- frees it, NAME_grow(factor) makes room, NAME_length() and NAME_type() tell; and
--- NAME_store(to) and NAME_load(from, bytes) copy the array.
function LPM:alloc(name, ctype, count, first)
  local array_t, size = ffi.typeof("$[?]", ctype), ffi.sizeof(ctype)
  local free, following = {}, first or 0
  count = count or 0

  local function resize(new_count, from, kept)
    local array = array_t(math.max(new_count, 1) + SLACK)
    if from then ffi.copy(array, from, kept * size) end
    self[name], count = array, new_count
  end

  self[name .. "_type"] = function () return ctype end
  self[name .. "_length"] = function () return count end
  self[name .. "_free"] = function (_, index) free[#free + 1] = index end
  self[name .. "_grow"] = function (_, factor)
    resize(math.max(count, 1) * (factor or 2), self[name], count)
  end
  self[name .. "_new"] = function ()
    if #free > 0 then return table.remove(free) end
    if following >= count then self[name .. "_grow"](self) end
    following = following + 1
    return following - 1
  end
  self[name .. "_store"] = function (_, to)
    ffi.copy(to, self[name], count * size)
    return count * size
  end
  self[name .. "_load"] = function (_, from, bytes)
    local loaded = math.floor(tonumber(bytes) / size)
    resize(loaded, from, loaded)
    free, following = {}, loaded
  end
  resize(count)
  return self
end

--- Write the arrays that `alloc_storable` names to memory, one after the other, each
--- with its size in bytes (uint64_t) before it. The memory must be that large.
function LPM:alloc_store(to)
  to = ffi.cast("uint8_t *", to)
  for _, name in ipairs(self.alloc_storable) do
    local bytes = self[name .. "_store"](self, to + 8)
    ffi.cast("uint64_t *", to)[0] = bytes
    to = to + 8 + bytes
  end
end

--- Read the arrays that alloc_store() has written.
function LPM:alloc_load(from)
  from = ffi.cast("uint8_t *", from)
  for _, name in ipairs(self.alloc_storable) do
    local bytes = tonumber(ffi.cast("uint64_t *", from)[0])
    self[name .. "_load"](self, from + 8, bytes)
    from = from + 8 + bytes
  end
end

return {LPM = LPM}
