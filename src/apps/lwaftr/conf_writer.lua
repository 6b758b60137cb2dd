-- SPDX-License-Identifier: Apache-2.0
-- Writes an lwAFTR's configuration as text that apps.lwaftr.conf_reader and upstream's
-- programs read. Softwires come in the order of their addresses and PSIDs; what has its
-- default value is written, too.

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local schema = require("apps.lwaftr.conf_schema")

local writer = {}

local ROOM = 512 -- bytes of a softwire's text

local function softwires(table, write, indent)
  local list, n = table:list()
  local text = ffi.new("char[?]", ROOM)
  for i = 0, n - 1 do
    write(ffi.string(text, C.pg_print_softwire(list[i], indent, text, ROOM)))
  end
end

local block

local function sorted(entries)
  local keys = {}
  for key in pairs(entries) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function entries(field, value, write, indent)
  for _, key in ipairs(sorted(value)) do
    local entry = setmetatable({[field.key] = key}, {__index = value[key]})
    write(("%s%s {\n"):format(indent, field.name))
    block(field, entry, write, indent .. "  ")
    write(indent .. "}\n")
  end
end

function block(node, values, write, indent)
  for _, field in ipairs(node.fields) do
    local value = values[field.key_in_memory]
    if field.is_softwires then
      if values.softwires then softwires(values.softwires, write, indent) end
    elseif field.is_list then
      entries(field, value or {}, write, indent)
    elseif field.type and value ~= nil then
      write(("%s%s %s;\n"):format(indent, field.name, field.type.write(value)))
    elseif field.fields and value and next(value) ~= nil then
      write(("%s%s {\n"):format(indent, field.name))
      block(field, value, write, indent .. "  ")
      write(indent .. "}\n")
    end
  end
end

--- Write the configuration `conf` by calling `write` with pieces of text.
function writer.write(conf, write)
  block(schema, conf, write, "")
end

--- The configuration as one string.
function writer.text(conf)
  local parts = {}
  writer.write(conf, function (part) parts[#parts + 1] = part end)
  return table.concat(parts)
end

return writer
