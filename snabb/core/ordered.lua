-- SPDX-License-Identifier: Apache-2.0
-- pairs() in the same order in every process. Debian's LuaJIT numbers strings from
-- a random start, and with them the order of a table's keys; in Snabb's LuaJIT it
-- is always the same, and some of its code relies on that.

local ordered = {}

local RANK = {number = 1, string = 2}
local OTHERS = 3

-- Numbers first, then strings, the shorter ones before the longer.
local function before(a, b)
  local rank_a, rank_b = RANK[type(a)] or OTHERS, RANK[type(b)] or OTHERS
  if rank_a ~= rank_b then return rank_a < rank_b end
  if rank_a == RANK.string and #a ~= #b then return #a < #b end
  return rank_a < OTHERS and a < b
end

--- As pairs(t), but numbers come first, in order, then strings by length, then by
--- their bytes, then other keys. Keys that are added meanwhile don't come; those
--- removed are left out. A table with __pairs decides itself.
function ordered.pairs(t)
  local meta = getmetatable(t)
  if meta and meta.__pairs then return pairs(t) end
  local keys, i = {}, 0
  for key in next, t do keys[#keys + 1] = key end
  table.sort(keys, before)
  return function ()
    local key, value
    repeat
      i = i + 1
      key = keys[i]
      if key == nil then return nil end
      value = t[key]
    until value ~= nil
    return key, value
  end
end

return ordered
