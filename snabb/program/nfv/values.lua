-- SPDX-License-Identifier: Apache-2.0
-- Values that a configuration file gave, for sentences; tables in a fixed order.

local values = {}

local MOST_SHOWN = 60 -- characters

--- The value as a sentence shows it.
function values.shown(value)
  if type(value) == "table" then return "a table" end
  if type(value) ~= "string" then return tostring(value) end
  local text = value:gsub("[%c\127]", "?")
  if #text > MOST_SHOWN then text = text:sub(1, MOST_SHOWN) .. "..." end
  return "'" .. text .. "'"
end

--- The table's keys, those that are strings in order.
function values.keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function (a, b)
    if type(a) == type(b) and type(a) ~= "table" and type(a) ~= "boolean" then
      return a < b
    end
    return tostring(a) < tostring(b)
  end)
  return keys
end

--- For `for key, value in values.sorted(t) do`.
function values.sorted(t)
  local keys, i = values.keys(t), 0
  return function ()
    i = i + 1
    return keys[i], t[keys[i]]
  end
end

return values
