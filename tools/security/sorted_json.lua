-- SPDX-License-Identifier: Apache-2.0
-- JSON whose text depends on what it says alone: keys are sorted, which cjson leaves to
-- a table's order in memory.

local cjson = require("cjson")

local sorted_json = {}

--- The text of `value`: strings, numbers, booleans, lists, and tables of string keys. A
--- table without any is an empty object.
function sorted_json.encode(value)
  if type(value) ~= "table" then return cjson.encode(value) end
  local parts = {}
  if value[1] ~= nil then
    for i, item in ipairs(value) do parts[i] = sorted_json.encode(item) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    parts[i] = cjson.encode(key) .. ":" .. sorted_json.encode(value[key])
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

return sorted_json
