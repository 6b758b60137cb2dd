-- SPDX-License-Identifier: Apache-2.0
-- Length fields. A field's value is bytes / unit + bias, where the bytes are those of
-- the header, of its variable part, of all that follows it (payload), or all of it.

local ffi = require("ffi")
local data_of = require("lib.stack.layout.data_of")

local lengths = {}

local STATIC = {header = true, variable = true}

--- The bytes that the field says there are, by its value.
function lengths.bytes_of(field, value)
  return (tonumber(value) - (field.bias or 0)) * (field.unit or 1)
end

--- The value of the length field for the item in `total` bytes of packet.
function lengths.value(item, field, total)
  local bytes
  if field.length == "header" then bytes = item.size
  elseif field.length == "variable" then bytes = item.variable
  elseif field.length == "all" then bytes = total - item.offset
  else bytes = total - item.offset - item.size end
  if bytes < 0 then bytes = 0 end
  return math.floor(bytes / (field.unit or 1)) + (field.bias or 0)
end

--- Set those length fields of a header (a slow pointer) that its item alone decides.
function lengths.set_static(item, header)
  for _, field in ipairs(item.layout.fields) do
    if STATIC[field.length] then
      item.layout.slow["set" .. field.name](header, lengths.value(item, field, 0))
    end
  end
end

--- The length fields that depend on the packet's length: a list of {item, field};
--- without those of a packet that this one quotes, unless `quoted`.
function lengths.dynamic(shape, quoted)
  local list = {}
  for _, item in ipairs(shape.items) do
    for _, field in ipairs(item.layout.fields) do
      if field.length and not STATIC[field.length] and (quoted or not item.quoted) then
        list[#list + 1] = {item = item, field = field}
      end
    end
  end
  return list
end

local function refuse(n)
  error(("setLength takes a number of bytes, not %s"):format(type(n) == "string"
    and "'" .. n .. "'" or type(n)), 3)
end

--- Set these fields for a packet of `total` bytes (slow code; see setter).
function lengths.set_dynamic(shape, p, total)
  if type(total) ~= "number" then refuse(total) end
  for _, entry in ipairs(lengths.dynamic(shape)) do
    local item, field = entry.item, entry.field
    if item.offset + item.size <= p.length then
      item.layout.slow["set" .. field.name](ffi.cast(item.layout.slow_pointer,
        data_of(p) + item.offset), lengths.value(item, field, total))
    end
  end
end

local function no_packet(value)
  error(("setLength is called with its packet, by a colon, not with %s"):format(
    type(value) == "string" and "'" .. value .. "'" or tostring(value)), 3)
end

-- total / unit without a division where the unit is a power of two.
local function quotient(bytes, unit)
  if unit == 1 then return bytes end
  local shift = math.log(unit) / math.log(2)
  if shift % 1 == 0 then return ("rshift(%s, %d)"):format(bytes, shift) end
  return ("floor((%s) / %d)"):format(bytes, unit)
end

-- The statements that set the fields of the list; `clamp` where n may be less than
-- what lies before a field's bytes.
local function statements(list, clamp)
  local lines = {}
  for i, entry in ipairs(list) do
    local item, field = entry.item, entry.field
    local bytes = "n"
    if entry.before > 0 then
      bytes = (clamp and "max(n - %d, 0)" or "(n - %d)"):format(entry.before)
    end
    lines[i] = ("set%d(cast(H%d, d + %d), %s + %d)"):format(i, i, item.offset,
      quotient(bytes, field.unit or 1), field.bias or 0)
  end
  return table.concat(lines, "\n")
end

--- A function (packet, n) for packet loops that sets these fields for a packet of n
--- bytes.
function lengths.setter(shape)
  local list, names, arguments, most = lengths.dynamic(shape), {}, {}, 0
  for i, entry in ipairs(list) do
    local item, field = entry.item, entry.field
    entry.before = item.offset + (field.length == "payload" and item.size or 0)
    most = math.max(most, entry.before)
    names[i] = (", H%d, set%d"):format(i, i)
    arguments[2 * i - 1] = item.layout.fast_pointer
    arguments[2 * i] = item.layout.fast["set" .. field.name]
  end
  local source = ([[
local type, refuse, no_packet, cast, rshift, floor, max%s = ...
return function (p, n)
if type(p) ~= "cdata" then no_packet(p) end
if type(n) ~= "number" then refuse(n) end
local d = p.buf_addr + p.data_off
if n >= %d then
%s
else
%s
end
end]]):format(table.concat(names), most, statements(list), statements(list, true))
  return loadstring(source, "=setLength")(type, refuse, no_packet, ffi.cast, bit.rshift,
    math.floor, math.max, unpack(arguments))
end

return lengths
