-- SPDX-License-Identifier: Apache-2.0
-- A protocol: its definition, checked, and its layouts, made when they are first
-- wanted (there are as many as subtypes and combinations of optional fields).

local definition = require("lib.stack.definition")
local header = require("lib.stack.ctypes")
local layouts = require("lib.stack.layout.header")
local luajit = require("core.luajit")

local Protocol = {}
Protocol.__index = Protocol

local fault = definition.fault

-- A range as a set: of values by what is between its ends.
local function in_range(range)
  return setmetatable({}, {__index = function (_, value)
    return value >= range.least and value <= range.most
  end})
end

-- What must hold of a header: {Field = value, list or {least =, most =}} as a list of
-- {field, values, set, range}, sorted by name.
local function conditions(when, layout, name)
  local list = {}
  for field_name, values in pairs(when or {}) do
    local field = layout.by_name[field_name]
    if not field then
      fault(name, "`when` names field %s, which isn't there", field_name)
    end
    local range = type(values) == "table" and values.least and values or nil
    values = type(values) == "table" and {unpack(values)} or {values}
    local set = range and in_range(range) or {}
    for i, value in ipairs(values) do
      if field.flag then value = value == 1 or value == true end
      values[i], set[value] = value, true
    end
    list[#list + 1] = {field = field, values = values, set = set, range = range}
  end
  table.sort(list, function (a, b) return a.field.name < b.field.name end)
  return list
end

--- The values of a condition in words: "4", "0 or 1", "0 to 1500".
function Protocol.values_text(values, range)
  if range then return ("%d to %d"):format(range.least, range.most) end
  local texts = {}
  for i, value in ipairs(values) do
    if type(value) == "boolean" then value = value and 1 or 0 end
    texts[i] = tostring(value)
  end
  return table.concat(texts, " or ")
end

--- Do the conditions hold of the header (a slow pointer)?
function Protocol.holds(list, layout, header_pointer)
  for _, condition in ipairs(list) do
    local value = layout.slow["get" .. condition.field.name](header_pointer)
    if not condition.set[value] then return false end
  end
  return true
end

local function new_variable(raw, layout, name, pad)
  if not raw then return end
  local variable = {name = raw[1], pad = raw.pad or pad, rest = raw.size == "rest"}
  if raw.from then
    variable.from = layout.by_name[raw.from]
    if not variable.from or not variable.from.length then
      fault(name, "%s takes its size from %s, which isn't a length field", raw[1],
        raw.from)
    end
  elseif type(raw.size) == "function" then
    variable.size, variable.slow_size = raw.size, luajit.copy(raw.size)
  elseif not variable.rest then
    fault(name, "what says the size of its variable member %s?", tostring(raw[1]))
  end
  variable.label = variable.name:gsub("^.", string.upper)
  if layout.by_label[variable.label] then
    fault(name, "the variable member %s has the label of field %s", variable.name,
      layout.by_label[variable.label].name)
  end
  return variable
end

local function check_next(next, layout, name)
  for _, field in ipairs(type(next) == "table" and (next.fields or {next.field}) or {})
  do
    local found = layout.by_name[field]
    if not found or found.kind ~= "uint" or found.flag then
      fault(name, "`next` names field %s, which isn't %s", tostring(field),
        found and "a number" or "there")
    end
  end
end

local function build(protocol, subtype, present)
  local def = protocol.def
  local variant = subtype and def.subtypes[subtype] or def
  local raw_variable = variant.variable or def.variable
  local layout = layouts.new(def.name, variant.fields or def.fields, present,
    raw_variable and raw_variable[1])
  header.build(layout, def.name, def.methods)
  layout.protocol, layout.subtype, layout.present = protocol, subtype, present
  layout.variable = new_variable(raw_variable, layout, def.name,
    variant.pad or def.pad)
  layout.next = variant.next or def.next
  local next = layout.next
  layout.slow_next = type(next) == "function" and luajit.copy(next) or next
  check_next(layout.next, layout, def.name)
  if type(layout.next) == "table" and layout.next.when then
    layout.next_when = conditions(layout.next.when, layout, def.name)
  end
  layout.claims = conditions(def.when, layout, def.name)
  layout.when = subtype and variant.when
    and conditions(variant.when, layout, def.name) or nil
  for _, flag in ipairs(protocol.flags) do
    if not (layout.by_name[flag] and layout.by_name[flag].flag) then
      fault(def.name, "`when` of a field names %s, which isn't a field of 1 bit", flag)
    end
  end
  return layout
end

--- The layout of the subtype (nil: the default) with the optional fields of the
--- flags in the set `present`.
function Protocol:layout(subtype, present)
  present = present or {}
  local key = subtype or ""
  for _, flag in ipairs(self.flags) do
    if present[flag] then key = key .. "+" .. flag end
  end
  local layout = self.layouts[key]
  if not layout then
    layout = build(self, subtype, present)
    layout.key = key
    self.layouts[key] = layout
  end
  return layout
end

-- Every layout, so that none is to be made later.
local function make_layouts(protocol)
  for _, subtype in ipairs{false, unpack(protocol.subtypes)} do
    for mask = 0, 2 ^ #protocol.flags - 1 do
      local present = {}
      for i, flag in ipairs(protocol.flags) do
        if bit.band(mask, bit.lshift(1, i - 1)) ~= 0 then present[flag] = true end
      end
      protocol:layout(subtype or nil, present)
    end
  end
end

--- The protocol that `def` defines. Raises a sentence if the definition is wrong.
function Protocol.new(def)
  definition.check(def)
  local self = setmetatable({
    def = def, name = def.name, title = def.title or def.name,
    claims = def.when ~= nil, layouts = {}, flags = {}, subtypes = {},
    check = def.check, slow_check = def.check and luajit.copy(def.check),
    destination = def.destination,
    slow_destination = def.destination and luajit.copy(def.destination),
  }, Protocol)
  local seen = {}
  for _, field in ipairs(def.fields) do
    if field.when and not seen[field.when] then
      seen[field.when] = true
      self.flags[#self.flags + 1] = field.when
    end
  end
  if #self.flags > 5 then fault(def.name, "it has more than 5 optional parts") end
  local listed = {}
  for _, name in ipairs(def.order or {}) do
    listed[name] = true
    self.subtypes[#self.subtypes + 1] = name
  end
  local rest = {}
  for name in pairs(def.subtypes or {}) do
    if not listed[name] then rest[#rest + 1] = name end
  end
  table.sort(rest)
  for _, name in ipairs(rest) do self.subtypes[#self.subtypes + 1] = name end
  make_layouts(self)
  self.default = self:layout()
  return self
end

--- The protocol whose table says what follows a header of this layout.
function Protocol.table_of(layout)
  local next = layout.next
  return type(next) == "table" and next.as or layout.protocol.name
end

return Protocol
