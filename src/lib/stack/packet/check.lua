-- SPDX-License-Identifier: Apache-2.0
-- Checked casts: does a packet have just the headers of a stack? Source is written for
-- each stack, for packet loops.

local ffi = require("ffi")
local lengths = require("lib.stack.layout.lengths")
local operand = require("lib.stack.packet.operand")
local Protocol = require("lib.stack.protocol")
local registry = require("lib.stack.registry")

local check = {}

local Source = {}
Source.__index = Source

function Source:add(fmt, ...)
  self.lines[#self.lines + 1] = fmt:format(...)
end

-- A name for `value` in the source.
function Source:argument(value)
  local name = self.named[value]
  if not name then
    name = "a" .. #self.values + 1
    self.named[value] = name
    self.values[#self.values + 1] = value
    self.names[#self.names + 1] = ", " .. name
  end
  return name
end

function Source:refuse_if(condition, fmt, ...)
  self:add("if %s then return nil, %q end", condition, fmt:format(...))
end

function Source:header(layout, offset)
  return ("cast(%s, d + %d)"):format(self:argument(layout.fast_pointer), offset)
end

function Source:get(layout, name, header)
  return ("%s(%s)"):format(self:argument(layout.fast["get" .. name]), header)
end

-- `value == a or value == b`.
local function is_one_of(value, values)
  local tests = {}
  for i, v in ipairs(values) do
    v = type(v) == "number" and ("%.17g"):format(v) or tostring(v)
    tests[i] = value .. " == " .. v
  end
  return "(" .. table.concat(tests, " or ") .. ")"
end

function Source:all_hold(list, layout, header)
  local tests = {}
  for i, condition in ipairs(list) do
    local value, range = self:get(layout, condition.field.name, header), condition.range
    tests[i] = range and ("(%s >= %d and %s <= %d)"):format(value, range.least, value,
      range.most) or is_one_of(value, condition.values)
  end
  return table.concat(tests, " and ")
end

function Source:add_conditions(item, list)
  for _, condition in ipairs(list or {}) do
    self:refuse_if("not " .. self:all_hold({condition}, item.layout, "h"),
      "%s: its %s isn't %s", item.label, condition.field.name,
      Protocol.values_text(condition.values, condition.range))
  end
end

-- The values that announce the item above, where it has some.
local function announcing(item, above)
  if not above or type(item.layout.next) ~= "table" then return {} end
  return registry.values(Protocol.table_of(item.layout), above.protocol.name)
end

-- Resolving a packet takes the first subtype that fits: it must be this one, unless
-- what follows is as well (eth and vlan, which could be eth of subtype vlan).
function Source:add_subtype(item, above)
  local protocol = item.protocol
  self:add_conditions(item, item.layout.when)
  if #announcing(item, above) > 0 then return end
  for _, name in ipairs(protocol.subtypes) do
    if name == item.layout.subtype then return end
    local other = protocol:layout(name)
    if other.when and not item.layout.subtype or other.when and item.layout.when then
      local header = self:header(other, item.offset)
      self:refuse_if(("n >= %d and %s"):format(item.offset + other.size,
        self:all_hold(other.when, other, header)), "%s is a %s one", item.label, name)
    end
  end
end

function Source:add_flags(item)
  for _, flag in ipairs(item.protocol.flags) do
    local wanted = item.layout.present[flag] or false
    self:refuse_if(("%s ~= %s"):format(self:get(item.layout, flag, "h"),
      tostring(wanted)),
      "%s: its %s isn't %d", item.label, flag, wanted and 1 or 0)
  end
end

function Source:add_variable(item)
  local variable = item.layout.variable
  if not variable or variable.rest then return end
  local reason = ("%s: its %s doesn't have %d bytes"):format(item.label, variable.name,
    item.variable)
  if variable.size then
    return self:refuse_if(("%s(h, n - %d) ~= %d"):format(self:argument(variable.size),
      item.offset, item.variable), "%s", reason)
  end
  local field = variable.from
  local value = self:get(item.layout, field.name, "h")
  if field.length == "header" or field.length == "variable" then
    return self:refuse_if(("%s ~= %d"):format(value, lengths.value(item, field, 0)),
      "%s", reason)
  end
  self:refuse_if(("(%s + %d) * %d ~= %d"):format(value, -(field.bias or 0),
    field.unit or 1, item.size), "%s", reason)
end

function Source:add_next(item, above)
  local next, name = item.layout.next, above.protocol.name
  local reason = ("%s doesn't announce %s"):format(item.label, above.label)
  if type(next) == "function" then
    return self:refuse_if(("%s(h, n - %d) ~= %q"):format(self:argument(next),
      item.offset, name), "%s", reason)
  elseif type(next) ~= "table" then
    if next and next ~= name then self:refuse_if("true", "%s", reason) end
    return
  end
  local values = announcing(item, above)
  if #values == 0 then return end
  local tests = {}
  for i, field in ipairs(next.fields or {next.field}) do
    tests[i] = is_one_of(self:get(item.layout, field, "h"), values)
  end
  self:refuse_if("not (" .. table.concat(tests, " or ") .. ")", "%s", reason)
  self:add_conditions(item, item.layout.next_when)
end

-- What follows must end within what the length fields tell, unless one can't be right:
-- as resolving has it. `n` becomes where that is.
function Source:add_end(item, above)
  for _, field in ipairs(item.layout.fields) do
    if field.length == "all" or field.length == "payload" then
      local start = item.offset + (field.length == "payload" and item.size or 0)
      self:add("local told = %d + (%s + %d) * %d", start,
        self:get(item.layout, field.name, "h"), -(field.bias or 0), field.unit or 1)
      self:add("if told >= %d and told < n then n = told end", item.offset + item.size)
      self.bounded = true
    end
  end
  if self.bounded then
    self:refuse_if(("n < %d"):format(above.offset + above.size),
      "%s ends before %s does", item.label, above.label)
  end
end

function Source:add_item(item, above)
  self:add("do")
  self:add("local h = %s", self:header(item.layout, item.offset))
  self:add_conditions(item, item.layout.claims)
  self:add_subtype(item, above)
  self:add_flags(item)
  self:add_variable(item)
  if item.protocol.check then
    self:add("local reason = %s(h, n - %d)", self:argument(item.protocol.check),
      item.offset)
    self:add('if reason then return nil, "%s: " .. reason end', item.label)
  end
  if above then
    self:add_end(item, above)
    self:add_next(item, above)
  end
  self:add("end")
end

--- A function (packet) that returns the packet cast to the shape; or nil and a reason
--- if it is too short, or its headers aren't these.
function check.new(shape)
  local source = setmetatable({lines = {}, names = {}, values = {}, named = {}}, Source)
  source:refuse_if(("n < %d"):format(shape.size),
    "it is shorter than these headers, which have %d bytes", shape.size)
  for i, item in ipairs(shape.items) do source:add_item(item, shape.items[i + 1]) end
  local text = ([[
local cast, pointer, istype, Packet, packet_of%s = ...
return function (p)
if not istype(Packet, p) then p = packet_of(p) end
local d, n = p.buf_addr + p.data_off, p.length
%s
return (cast(pointer, p))
end]]):format(table.concat(source.names), table.concat(source.lines, "\n"))
  return assert(loadstring(text, "=check"))(ffi.cast, shape.pointer, ffi.istype,
    operand.Packet, operand.packet, unpack(source.values))
end

return check
