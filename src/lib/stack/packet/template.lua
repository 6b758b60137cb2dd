-- SPDX-License-Identifier: Apache-2.0
-- The bytes of a stack's headers as `fill` begins with them: every field's default,
-- the values that announce the header above, and the lengths that don't depend on the
-- packet's.

local ffi = require("ffi")
local lengths = require("lib.stack.layout.lengths")
local Protocol = require("lib.stack.protocol")
local put = require("lib.stack.packet.set_field")
local registry = require("lib.stack.registry")

local template = {}

local function set(item, header, field, value)
  put(item.layout, field, header, value, item.label .. field.label)
end

local function set_conditions(item, header, list)
  for _, condition in ipairs(list or {}) do
    set(item, header, condition.field, condition.values[1])
  end
end

-- Announce the header above.
local function set_next(item, header, above)
  local next = item.layout.next
  if not above or type(next) ~= "table" then return end
  local value = registry.values(Protocol.table_of(item.layout), above.protocol.name)[1]
  if not value then return end
  set(item, header, item.layout.by_name[next.field or next.fields[1]], value)
  set_conditions(item, header, item.layout.next_when)
end

-- What the header above wants to be sent with, such as a group address.
local function set_wanted(item, header, above)
  local wanted = above and above.protocol.def.below
  for name, value in pairs(wanted and wanted[item.protocol.name] or {}) do
    set(item, header, item.layout.by_name[name], value)
  end
end

local function fill_header(item, header, above)
  for _, field in ipairs(item.layout.fields) do
    if field.default and not field.at then set(item, header, field, field.default) end
  end
  for flag in pairs(item.layout.present) do
    set(item, header, item.layout.by_name[flag], 1)
  end
  set_conditions(item, header, item.layout.claims)
  set_conditions(item, header, item.layout.when)
  set_next(item, header, above)
  set_wanted(item, header, above)
  lengths.set_static(item, header)
end

--- The bytes, as a string as long as the shape.
function template.bytes(shape)
  local bytes = ffi.new("uint8_t[?]", shape.size + 1)
  for i, item in ipairs(shape.items) do
    local header = ffi.cast(item.layout.slow_pointer, bytes + item.offset)
    fill_header(item, header, shape.items[i + 1])
  end
  return ffi.string(bytes, shape.size)
end

return template
