-- SPDX-License-Identifier: Apache-2.0
-- Softwires as text in whatever format: one softwire whose values are marks is printed
-- as any entry would be, and that is the template by which C prints all others.

local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local schema = require("apps.lwaftr.conf_schema")
local tables = require("core.lib.tables")

local softwire_text = {}

local AT_ONCE = 1000 -- softwires
-- As pg_print_softwires() has them.
local MARKS = {["ipv4"] = "\1", ["psid"] = "\2", ["b4-ipv6"] = "\3",
  ["br-address"] = "\4", ["psid-length"] = "\5", ["reserved-ports-bit-count"] = "\6"}

-- Leaves whose texts are marks, in the place of the node's.
local function marked(node)
  local fields = {}
  for i, field in ipairs(node.fields) do
    local copy = tables.copy(field)
    local mark = MARKS[field.name]
    if mark then
      copy.type = setmetatable({write = function () return mark end},
        {__index = field.type})
    elseif field.fields then
      copy = marked(field)
    end
    fields[i] = copy
  end
  return schema.container(node.name, fields)
end

--- A template: print(node, entry) returns the text of one softwire, a table as in a
--- configuration, with the leaves of `node` (apps.lwaftr.conf_schema). Its values don't
--- matter, but that reserved-ports-bit-count is 0, or isn't.
function softwire_text.template(softwire_node, print)
  local node, texts = marked(softwire_node), {}
  for i = 1, 2 do
    texts[i] = print(node, {ipv4 = 0, psid = 0, padding = 0, b4_ipv6 = "",
      br_address = "", port_set = {psid_length = 0, reserved_ports_bit_count = i - 1}})
  end
  return {plain = texts[1], reserved = texts[2]}
end

local function most(text)
  local _, marks = text:gsub("[\1-\6]", "")
  return #text + marks * C.SOFTWIRE_VALUE_MAX
end

--- Put `n` softwires (an array of struct softwire) by a template into a string.buffer.
function softwire_text.put(out, softwires, n, template)
  local longest = math.max(most(template.plain), most(template.reserved))
  for i = 0, n - 1, AT_ONCE do
    local count = math.min(AT_ONCE, n - i)
    local room = out:reserve(count * longest)
    out:commit(tonumber(C.pg_print_softwires(softwires + i, count, template.plain,
      template.reserved, room)))
  end
end

return softwire_text
