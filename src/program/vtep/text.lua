-- SPDX-License-Identifier: Apache-2.0
-- What runs as a configuration file in JSON, which `perigee vtep --config` reads: with
-- what the command line said, too.

local cjson = require("cjson")
local sorted_keys = require("core.config").sorted_keys

local text = {}

-- A number, a truth value or a text. cjson writes each slash as \/.
local function plain(value) return (cjson.encode(value):gsub("\\/", "/")) end

local function put_all(parts, first, last, indent)
  if #parts == 0 then return first .. last end
  local sep = indent and "\n" .. indent .. "  " or ""
  return first .. sep .. table.concat(parts, indent and "," .. sep or ", ")
    .. (indent and "\n" .. indent or "") .. last
end

local value_of

local function object(map, indent)
  local parts = {}
  for i, name in ipairs(sorted_keys(map)) do
    parts[i] = plain(tostring(name)) .. ": " .. value_of(map[name])
  end
  return put_all(parts, "{", "}", indent)
end

local function list(items, indent)
  local parts = {}
  for i, item in ipairs(items) do parts[i] = value_of(item) end
  return put_all(parts, "[", "]", indent)
end

-- On one line unless there is an `indent`: then each of its parts has one.
function value_of(value, indent)
  if type(value) ~= "table" then return plain(value) end
  local is_list = #value > 0 or next(value) == nil
  return (is_list and list or object)(value, indent)
end

--- The text of these options (program.vtep.arguments).
function text.of(options)
  local parts = {}
  for i, name in ipairs(sorted_keys(options)) do
    local value = options[name]
    -- VNI 1 makes no list of it.
    parts[i] = plain(name) .. ": "
      .. (name == "vnis" and object or value_of)(value, "  ")
  end
  return put_all(parts, "{", "}", "") .. "\n"
end

return text
