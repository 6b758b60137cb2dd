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
    if not condition.range then
      set(item, header, condition.field, condition.values[1])
    end
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

-- May the field be set so: does it leave announced what follows?
local function leaves_next(item, field, value, shape)
  local next = item.layout.next
  if type(next) ~= "table" or next.field ~= field then return true end
  local follows = shape.items[item.index + 1].protocol.name
  local names = registry.announced(Protocol.table_of(item.layout), value)
  for _, name in ipairs(names or {}) do
    if name == follows then return true end
  end
  return false
end

-- What headers above want to be sent with, such as a group address. Those within a
-- tunnel, where headers begin anew, want it of the tunnel's inner ones.
local function set_wanted(item, header, shape)
  local name = item.protocol.name
  local seen = {eth = true, [name] = true}
  for i = item.index + 1, #shape.items do
    local above = shape.items[i].protocol
    if seen[above.name] then return end
    seen[above.name] = true
    for field, value in pairs(above.def.below and above.def.below[name] or {}) do
      if item.layout.by_name[field] and leaves_next(item, field, value, shape) then
        set(item, header, item.layout.by_name[field], value)
      end
    end
  end
end

local function fill_header(item, header, shape)
  for _, field in ipairs(item.layout.fields) do
    if field.default and not field.at then set(item, header, field, field.default) end
  end
  for flag in pairs(item.layout.present) do
    set(item, header, item.layout.by_name[flag], 1)
  end
  set_conditions(item, header, item.layout.claims)
  set_conditions(item, header, item.layout.when)
  set_next(item, header, shape.items[item.index + 1])
  set_wanted(item, header, shape)
  lengths.set_static(item, header)
end

--- The bytes, as a string as long as the shape.
function template.bytes(shape)
  local bytes = ffi.new("uint8_t[?]", shape.size + 1)
  for _, item in ipairs(shape.items) do
    local header = ffi.cast(item.layout.slow_pointer, bytes + item.offset)
    fill_header(item, header, shape)
  end
  return ffi.string(bytes, shape.size)
end

return template
