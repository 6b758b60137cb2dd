-- SPDX-License-Identifier: Apache-2.0
-- Lua tables: their keys in order, shallow copies, sets.

local tables = {}

--- The keys of a table, all of them strings or all numbers, sorted.
function tables.sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- A new table with the entries of these tables; of equal keys the last one's counts.
--- nil stands for an empty table, and values are shared.
function tables.copy(...)
  local result = {}
  for i = 1, select("#", ...) do
    for key, value in pairs((select(i, ...)) or {}) do result[key] = value end
  end
  return result
end

--- A table that has `true` under each item of the list.
function tables.set_of(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

--- A new table with one field of each item of the table, under the item's key; items
--- without that field are left out.
function tables.field(items, name)
  local result = {}
  for key, item in pairs(items) do result[key] = item[name] end
  return result
end

return tables
