-- SPDX-License-Identifier: Apache-2.0
-- A stack of headers as text: eth,ip4,udp; with optional fields, eth,ip4,gre+Key=7,ip6.

local failure = require("core.failure")
local from_hex = require("net.wire.bytes").from_hex
local spelling = require("core.lib.spelling")
local stack = require("lib.stack")

local M = {}

local function malformed(whole)
  failure.usage("'%s' isn't a stack such as eth,ip4,udp or eth:vlan,ip4,udp,vxlan,"
    .. "innerEth=eth ([NAME=]PROTOCOL[:SUBTYPE][+FIELD[=VALUE]], outermost first)",
    whole)
end

-- The bytes of the hexadecimal digits, and zeros up to a multiple of `unit`.
local function bytes_of(text, unit, what)
  if #text % 2 ~= 0 or not text:find("^%x+$") then
    failure.usage("%s is given in hexadecimal, two digits a byte, not as '%s'", what,
      text)
  end
  local bytes = from_hex(text)
  return bytes .. ("\0"):rep(-#bytes % unit)
end

-- The name of the optional field that is `text` but for capitals; nil if there is none.
local function optional(protocol, text)
  for _, field in ipairs(protocol.def.fields) do
    if field.when and field[1]:lower() == text:lower() then return field[1] end
  end
end

local function names_of(protocol, variable)
  local names = {variable and variable.name}
  for _, field in ipairs(protocol.def.fields) do
    if field.when then names[#names + 1] = field[1] end
  end
  return names
end

-- "+Key=7" of an item; what is set by it goes to `extra`.
local function add_part(item, protocol, text, extra, whole)
  local key, value = text:match("^%s*(%a%w*)%s*=?%s*(%w*)%s*$")
  if not key then malformed(whole) end
  local variable = protocol:layout(item.subType).variable
  local label, field = item.name or protocol.name, optional(protocol, key)
  if field then
    item.with = item.with or {}
    item.with[#item.with + 1] = field
    if value ~= "" then
      extra.set[#extra.set + 1] = ("%s%s=%s"):format(label, field, value)
    end
  elseif variable and variable.name:lower() == key:lower() then
    local unit = variable.pad or variable.from and variable.from.unit or 1
    local bytes = bytes_of(value, unit, label .. "+" .. key)
    item.length, extra.fill[label .. variable.label] = #bytes, bytes
  else
    failure.usage("%s has no optional field or variable part '%s'%s", protocol.name,
      key, spelling.hint(key, names_of(protocol, variable)))
  end
end

local function item_of(text, whole, extra)
  local label, rest = text:match("^%s*(%a%w*)=(.*)$")
  local head, parts = (rest or text):match("^([^+]*)(.*)$")
  local name, subtype = head:match("^%s*(%w+):?(%w*)%s*$")
  if not name then malformed(whole) end
  local item = {name, name = label, subType = subtype ~= "" and subtype or nil}
  local protocol = stack.registry.find(name)
  if not protocol or #parts == 0 then return item end
  -- createStack says what is wrong with a subtype.
  if not pcall(stack.createStack, item) then item.subType = nil end
  for part in parts:gmatch("%+([^+]*)") do
    add_part(item, protocol, part, extra, whole)
  end
  item.subType = subtype ~= "" and subtype or nil
  return item
end

--- The stack (lib.stack) that `description` is: text ("eth,ip4,udp"; with a subtype,
--- "eth:vlan,ip4"; with a name, "eth,ip4,udp,vxlan,innerEth=eth"; with optional fields
--- or the bytes of a variable part in hexadecimal, "ip4+options=94040000,gre+Key=7"),
--- or an array of what createStack takes. And what the text sets: a table of `set`, a
--- list of "greKey=7", and `fill`, labels and values for fill. Raises a sentence.
function M.parse(description)
  local items, extra = description, {set = {}, fill = {}}
  if type(description) == "string" then
    items = {}
    for text in (description .. ","):gmatch("([^,]*),") do
      items[#items + 1] = item_of(text, description, extra)
    end
  elseif type(description) ~= "table" then
    failure.usage("a stack is text such as eth,ip4,udp or an array, not a %s",
      type(description))
  end
  local ok, result = pcall(stack.createStack, unpack(items))
  if not ok then
    failure.usage("the stack '%s' can't be made: %s",
      type(description) == "string" and description or "of the script",
      (tostring(result):gsub("^createStack: ", "")))
  end
  return result, extra
end

return M
