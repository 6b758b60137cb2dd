-- SPDX-License-Identifier: Apache-2.0
-- A shape: which headers are where in a packet. createStack's arguments make one, and
-- so does resolving a packet. Its items are {protocol, layout, label, offset, size
-- (bytes, with the variable part), variable (bytes), quoted (is it of another packet,
-- of which there may be only the start?)}.

local lengths = require("lib.stack.layout.lengths")
local spelling = require("core.lib.spelling")
local registry = require("lib.stack.registry")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local shape = {}

--- See cast.lua: three upvalues each, of LuaJIT's 60.
shape.MAX_HEADERS = 16

local RESERVED = {}
for name in ("packet payload data length buf_addr data_off"):gmatch("[%w_]+") do
  RESERVED[name] = true
end


local ITEM_KEYS = {name = true, subType = true, subtype = true, length = true,
  with = true}

local function fault(fmt, ...)
  error("createStack: " .. fmt:format(...), 0)
end

local function find_protocol(name)
  if type(name) ~= "string" then
    fault("a header is a protocol's name, or a table that begins with one, not %s",
      tostring(name))
  end
  local protocol = registry.find(name)
  if not protocol then
    fault("there is no protocol '%s'%s", name,
      spelling.hint(name, registry.protocols()))
  end
  return protocol
end

local function find_subtype(protocol, wanted)
  if not wanted or wanted == protocol.def.default then return end
  if protocol.def.subtypes and protocol.def.subtypes[wanted] then return wanted end
  if protocol.def.subtypes == nil or wanted ~= "default" then
    fault("%s has no subtype '%s'%s", protocol.name, tostring(wanted),
      #protocol.subtypes > 0
        and "; it has " .. table.concat(protocol.subtypes, ", ") or "")
  end
end

local function optional_names(protocol)
  local names = {}
  for _, field in ipairs(protocol.def.fields) do
    if field.when then names[#names + 1] = field[1] end
  end
  return names
end

-- The flags of the optional fields that are wanted.
local function find_flags(protocol, with)
  local present = {}
  if with ~= nil and type(with) ~= "table" then
    fault("`with` is a list such as {\"Key\"}, not a %s", type(with))
  end
  for _, name in ipairs(with or {}) do
    local flag
    for _, field in ipairs(protocol.def.fields) do
      if field.when and (field[1] == name or field.when == name) then
        flag = field.when
      end
    end
    if not flag then
      fault("%s has no optional field '%s'%s", protocol.name, tostring(name),
        spelling.hint(tostring(name), optional_names(protocol)))
    end
    present[flag] = true
  end
  return present
end

local function check_length(protocol, layout, length)
  local variable = layout.variable
  if not variable then
    fault("%s has no variable part, so it takes no length", protocol.name)
  end
  local unit = variable.pad or variable.from and variable.from.unit or 1
  if type(length) ~= "number" or length < 0 or length % 1 ~= 0
    or length % unit ~= 0 then
    fault("%s of %s: '%s' isn't a number of bytes%s", variable.name, protocol.name,
      tostring(length), unit > 1 and ", a multiple of " .. unit or "")
  end
  local field = variable.from
  if field then
    local most = lengths.bytes_of(field, 2 ^ field.bits - 1)
    if field.length ~= "variable" then most = most - layout.size end
    if length > most then
      fault("%s of %s: %d bytes; its %s allows %d at most", variable.name,
        protocol.name, length, field.name, most)
    end
  end
  return length
end

local function new_item(description)
  if type(description) ~= "table" then
    local protocol = find_protocol(description)
    local layout = protocol.default
    return {protocol = protocol, layout = layout, label = protocol.name, variable = 0,
      size = layout.size}
  end
  for key in pairs(description) do
    if key ~= 1 and not ITEM_KEYS[key] then
      fault("a header has no '%s'; it has name, subType, length and with",
        tostring(key))
    end
  end
  local protocol = find_protocol(description[1])
  local layout = protocol:layout(
    find_subtype(protocol, description.subType or description.subtype),
    find_flags(protocol, description.with))
  local variable = 0
  if description.length then
    variable = check_length(protocol, layout, description.length)
  end
  return {
    protocol = protocol, layout = layout, label = description.name or protocol.name,
    variable = variable, size = layout.size + variable,
  }
end

local function check_label(label, seen, protocol)
  if type(label) ~= "string" or not label:match("^%a[%w_]*$") then
    fault("a header's name is letters and digits, not '%s'", tostring(label))
  end
  if RESERVED[label] then fault("a header can't be named '%s'", label) end
  if seen[label] then
    fault("two headers are called '%s'; name one: {'%s', name = 'inner%s'}", label,
      protocol.name, (protocol.name:gsub("^.", string.upper)))
  end
  seen[label] = true
end

--- Put the items at their offsets; the shape.
function shape.of_items(items, no_payload)
  local offset, quoted = 0, nil
  local by_label = {}
  for i, item in ipairs(items) do
    item.offset, item.index, item.quoted = offset, i, quoted
    quoted = quoted or item.protocol.def.quotes
    offset = offset + item.size
    by_label[item.label] = item
  end
  return {items = items, by_label = by_label, size = offset, no_payload = no_payload}
end

-- The protocol's form over the IP version below, which libmoon's users don't name: ICMP
-- over IPv6 is icmp6.
local function over_ip(items, i)
  local instead = items[i].protocol.def.instead
  for k = instead and i - 1 or 0, 1, -1 do
    local below = items[k].protocol.name
    if instead[below] then
      return new_item{instead[below], name = items[i].label}
    elseif #registry.values(below, items[i].protocol.name) > 0 then
      break
    end
  end
  return items[i]
end

--- The shape that createStack's arguments (a list) describe. Raises a sentence.
function shape.new(arguments)
  local items, seen, last = {}, {}, #arguments
  local no_payload = arguments[last] == "noPayload"
  if no_payload then last = last - 1 end
  if last > shape.MAX_HEADERS then
    fault("it takes up to %d headers, not %d", shape.MAX_HEADERS, last)
  end
  for i = 1, last do
    local item = new_item(arguments[i])
    check_label(item.label, seen, item.protocol)
    items[i] = item
    items[i] = over_ip(items, i)
  end
  return shape.of_items(items, no_payload)
end

-- nil where the item isn't one that a shape can have.
local function item_key(item)
  if type(item) == "string" then return item end
  if type(item) ~= "table" or type(item[1]) ~= "string" then return nil end
  local key = item[1] .. "|"
  for name, value in pairs(item) do
    if name == "name" then key = key .. tostring(value) .. "|"
    elseif not ITEM_KEYS[name] and name ~= 1 then return nil end
  end
  local with = item.with
  if type(with) == "table" then with = table.concat(with, "+") end
  local subtype = item.subType or item.subtype
  if subtype then key = key .. "s" .. tostring(subtype) .. "|" end
  if item.length then key = key .. "l" .. tostring(item.length) .. "|" end
  return with and key .. "w" .. tostring(with) or key
end

--- A text that is the same for shapes that are the same, for which it needn't be
--- made; nil if there is no such shape.
function shape.key(arguments)
  local parts = {}
  for i, item in ipairs(arguments) do
    local key = item_key(item)
    if not key then return nil end
    parts[i] = key
  end
  return table.concat(parts, ",")
end

return shape
