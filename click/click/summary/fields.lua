-- SPDX-License-Identifier: Apache-2.0
-- The fields of summary dumps by name. A field has
--
--   name
--   bytes      in binary dumps, as a number; or pack(value) and unpack(text, at)
--   headers    does get() look at the view's headers?
--   get(view)  its value of a packet, or nil
--   text(value, view)   as dumps write it; by default a number
--   order      when it is set; fields of headers before it come first
--   parse(text, builder)   the value that a dump's word is, or nil; by default a number
--   put(builder, value)    sets it; without that it is ignored on input
--
-- Values are numbers, or texts of bytes.

local options = require("click.summary.options")

local fields = {}

local by_name, synonyms = {}, {}

local function natural(text, bytes)
  local value = text:find("^%d+$") and tonumber(text)
    or text:find("^0[xX]%x+$") and tonumber(text)
  return value and value < 256 ^ bytes and value or nil
end

local function complete(field)
  local bytes = field.bytes
  field.text = field.text or function (value) return ("%.0f"):format(value) end
  if not bytes then return end
  field.parse = field.parse or function (text) return natural(text, bytes) end
  field.pack = field.pack or function (value) return options.bytes(value, bytes) end
  field.unpack = field.unpack or function (text, at)
    if at + bytes - 1 > #text then return nil, #text + 1 end
    return options.number(text, at, bytes), at + bytes
  end
end

--- Add the fields of a list.
function fields.add(list)
  for _, field in ipairs(list) do
    complete(field)
    by_name[field.name] = field
  end
end

--- Add other names for fields: {[other] = name}.
function fields.also(names)
  for other, name in pairs(names) do synonyms[other] = name end
end

-- "tcp seq" is tcp_seq, and "src" is ip_src.
local function newer_name(name)
  if name:find(" ", 1, true) then return (name:gsub(" ", "_", 1)) end
  if not name:find("_", 1, true) then return "ip_" .. name end
end

--- The field of that name, or of an older one; or nil.
function fields.find(name)
  while name do
    local found = by_name[synonyms[name] or name]
    if found then return found end
    name = newer_name(name)
  end
end

--- A field that is nothing.
fields.none = {name = "none", bytes = 0, order = 100}
complete(fields.none)

fields.big_endian, fields.number_at = options.bytes, options.number
fields.natural = natural

for _, module in ipairs{"annotations", "link", "network", "transport", "payload"} do
  require("click.summary." .. module)(fields)
end

return fields
