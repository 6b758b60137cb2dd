-- SPDX-License-Identifier: Apache-2.0
-- Writes an lwAFTR's configuration as text that apps.lwaftr.conf_reader and upstream's
-- programs read. Softwires come in the order of their addresses and PSIDs; what has its
-- default value is written, too.

local buffer = require("string.buffer")
local config = require("core.config")
local schema = require("apps.lwaftr.conf_schema")
local softwire_text = require("apps.lwaftr.softwire_text")

local writer = {}

local AT_ONCE = 1000 -- softwires that are written by one call

local block

local function text_of(node, entry, indent)
  local parts = {}
  local function write(part) parts[#parts + 1] = part end
  local port_set = entry.port_set
  if port_set.reserved_ports_bit_count == 0 then
    port_set.reserved_ports_bit_count = nil
  end
  entry.padding = nil
  write(("%s%s {\n"):format(indent, node.name))
  block(node, entry, write, indent .. "  ")
  write(indent .. "}\n")
  return table.concat(parts)
end

local function softwires(field, table, write, indent)
  local list, n = table:list()
  local template = softwire_text.template(field, function (node, entry)
    return text_of(node, entry, indent)
  end)
  local out = buffer.new()
  for i = 0, n - 1, AT_ONCE do
    softwire_text.put(out, list + i, math.min(AT_ONCE, n - i), template)
    write(out:get())
  end
end

local function entries(field, value, write, indent)
  for _, key in ipairs(config.sorted_keys(value)) do
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
      if values.softwires then softwires(field, values.softwires, write, indent) end
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
