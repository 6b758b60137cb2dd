-- SPDX-License-Identifier: Apache-2.0
-- What a protocol's definition may say: its keys, and what their values must be. Where
-- it names other protocols, lib.stack.registry looks.

local spelling = require("core.lib.spelling")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local definition = {}

local function set(names)
  local keys, list = {}, {}
  for name in names:gmatch("%w+") do keys[name], list[#list + 1] = true, name end
  return {keys = keys, list = list}
end

local PROTOCOL = set("name title source over next fields variable subtypes order"
  .. " default when check methods pad destination below instead strict quotes")
local FIELD = set("default values label aliases member length unit bias checksum zero"
  .. " optional when at signed order")
local VARIABLE = set("from size pad")
local SUBTYPE = set("fields when variable next pad")
local NEXT = set("field fields as when values")

-- Words of Lua's: `pkt.end` can't be written.
local WORDS = set("and break do else elseif end false for function goto if in local nil"
  .. " not or repeat return then true until while").keys
-- What else a header has or is: `set` and `get` begin the names of methods.
local OTHERS = set("get set packet payload").keys

local LENGTHS = {header = true, payload = true, all = true, variable = true}
local CHECKSUM_BITS = {header = 16, all = 16, pseudo = 16, crc32c = 32}

--- Raise the sentence for the protocol `name`.
function definition.fault(name, fmt, ...)
  error(("protocol '%s': "):format(tostring(name)) .. fmt:format(...), 0)
end
local fault = definition.fault

--- Why a protocol or a field can't have that name, as the rest of a sentence; or nil.
function definition.no_name(name)
  local small = name:gsub("^.", string.lower)
  if WORDS[small] then return ("'%s' is a word of Lua's"):format(small) end
  if OTHERS[small] then
    return ("'%s' means something else in packets and headers"):format(small)
  end
end

-- Are the table's keys, but for the first `listed` by number, known ones?
local function check_keys(name, what, values, known, listed)
  for key in pairs(values) do
    local by_number = type(key) == "number" and key <= listed
    if not by_number and not known.keys[key] then
      fault(name, "%s has no key '%s'%s", what, tostring(key),
        spelling.hint(tostring(key), known.list))
    end
  end
end

local function is_whole(value, least)
  return type(value) == "number" and value % 1 == 0 and value >= least
end

local function check_length(name, field)
  if not LENGTHS[field.length] then
    fault(name, "length = '%s'; it may be header, payload, all or variable",
      tostring(field.length))
  end
  if field[3] ~= nil and field[3] ~= "uint" then
    fault(name, "field %s is a length, so its type is uint, not %s", field[1],
      tostring(field[3]))
  end
end

local function check_checksum(name, field)
  local bits = CHECKSUM_BITS[field.checksum]
  if not bits then
    fault(name, "checksum = '%s'; it may be header, all, pseudo or crc32c",
      tostring(field.checksum))
  elseif field[2] ~= bits then
    fault(name, "field %s: a checksum of %s has %d bits, not %s", field[1],
      field.checksum, bits, tostring(field[2]))
  end
end

local function check_field(name, field)
  if type(field) ~= "table" then
    fault(name, "a field is a table such as {\"Type\", 16}, not a %s", type(field))
  end
  local bad = type(field[1]) == "string" and definition.no_name(field[1])
    or type(field.member) == "string" and definition.no_name(field.member)
  if bad then fault(name, "a field can't be called '%s': %s", field[1], bad) end
  check_keys(name, "field " .. tostring(field[1]), field, FIELD, 3)
  if field.length then check_length(name, field) end
  if field.checksum then check_checksum(name, field) end
  if field.unit ~= nil and not is_whole(field.unit, 1) then
    fault(name, "field %s: unit = %s; it is a number of bytes, 1 or more", field[1],
      tostring(field.unit))
  end
  if field.bias ~= nil and not is_whole(field.bias, -math.huge) then
    fault(name, "field %s: bias = %s; it is a whole number", field[1],
      tostring(field.bias))
  end
  if field.order ~= nil and field.order ~= "le" then
    fault(name, "field %s: order = '%s'; it is \"le\", or left away", field[1],
      tostring(field.order))
  end
end

local function check_next_values(name, values)
  if values == nil then return end
  local right = type(values) == "table"
  for value, upper in pairs(right and values or {}) do
    right = right and type(value) == "number" and type(upper) == "string"
  end
  if not right then
    fault(name, "`next`: values is a table such as {[1] = \"ip4\"}")
  end
end

local function check_next(name, next)
  local kind = type(next)
  if kind == "table" then
    check_keys(name, "next", next, NEXT, 0)
    if not next.field and not next.fields then
      fault(name, "`next` names no field; say field = \"Type\"")
    end
    check_next_values(name, next.values)
  elseif kind ~= "nil" and kind ~= "string" and kind ~= "function" then
    fault(name, "`next` is a protocol's name, a table or a function, not a %s", kind)
  end
end

-- What a definition and a subtype both have.
local function check_layout(name, part)
  if type(part.fields) ~= "table" then fault(name, "it has no list of fields") end
  for _, field in ipairs(part.fields) do check_field(name, field) end
  if type(part.variable) == "table" then
    check_keys(name, "variable", part.variable, VARIABLE, 1)
  elseif part.variable ~= nil then
    fault(name, "variable is a table such as {\"options\", from = \"Length\"}")
  end
  if part.pad ~= nil and not is_whole(part.pad, 1) then
    fault(name, "pad = %s; it is a number of bytes, 1 or more", tostring(part.pad))
  end
  check_next(name, part.next)
end

--- Raise a sentence if the definition is wrong, as far as it can be told by itself.
function definition.check(def)
  if type(def) ~= "table" then
    error(("a protocol is defined by a table, not a %s"):format(type(def)), 0)
  end
  local name = def.name
  if type(name) ~= "string" or not name:match("^%l[%w]*$") then
    fault(name, "its name is letters and digits, the first a small letter")
  elseif definition.no_name(name) then
    fault(name, "it can't be called that: %s", definition.no_name(name))
  end
  check_keys(name, "a definition", def, PROTOCOL, 0)
  check_layout(name, def)
  for subtype, part in pairs(def.subtypes or {}) do
    check_keys(name, "subtype " .. tostring(subtype), part, SUBTYPE, 0)
    check_layout(name, part)
  end
  if def.over ~= nil and type(def.over) ~= "table" then
    fault(name, "over is a table such as {udp = 7777}, not a %s", type(def.over))
  end
end

return definition
