-- SPDX-License-Identifier: Apache-2.0
-- The page of a protocol: what its definition says, as text.

local registry = require("lib.stack.registry")
local tables = require("core.lib.tables")

local page = {}

local LENGTHS = {
  header = "of the header", variable = "of the variable part",
  payload = "of what follows", all = "of the header and what follows",
}
local CHECKSUMS = {
  header = "checksum of the header", all = "checksum of the header and what follows",
  pseudo = "checksum, with IP's pseudo header", crc32c = "CRC32c",
}

local WIDTH = 80

-- "over" and the words, in lines of WIDTH.
local function wrapped(over, words)
  local lines, line = {}, over
  for i, word in ipairs(words) do
    if i < #words then word = word .. "," end
    if #line + 1 + #word > WIDTH then
      lines[#lines + 1], line = line, "  " .. word
    else
      line = line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- Ports are decimal, other large numbers (EtherTypes) hexadecimal.
local function numbers(values, table_name)
  local texts = {}
  for i, value in ipairs(values) do
    local hex = value > 255 and table_name ~= "udp" and table_name ~= "tcp"
    texts[i] = (hex and "0x%04x" or "%d"):format(value)
  end
  return table.concat(texts, " ")
end

local function values_text(values)
  local parts = {}
  for i, key in ipairs(tables.sorted_keys(values)) do
    parts[i] = key .. " " .. values[key]
  end
  return table.concat(parts, ", ")
end

local function length_text(field)
  local text = "length " .. LENGTHS[field.length]
  if field.unit then text = text .. (", in units of %d bytes"):format(field.unit) end
  if field.bias then text = text .. (", %+d"):format(field.bias) end
  return text
end

-- What a field means.
local function meaning(field)
  local parts = {}
  if field.kind ~= "uint" then parts[#parts + 1] = field.kind end
  if field.flag then parts[#parts + 1] = "true or false" end
  if field.signed then parts[#parts + 1] = "signed" end
  if field.order == "le" then parts[#parts + 1] = "little endian" end
  if field.length then parts[#parts + 1] = length_text(field) end
  if field.checksum then parts[#parts + 1] = CHECKSUMS[field.checksum] end
  if field.optional then parts[#parts + 1] = "0: none" end
  if field.at then parts[#parts + 1] = "all bits from " .. field.at end
  if field.when then parts[#parts + 1] = "there if " .. field.when .. " is 1" end
  if field.values then parts[#parts + 1] = values_text(field.values) end
  return table.concat(parts, "; ")
end

local function default_text(field)
  if field.default ~= nil then return tostring(field.default) end
  return (field.length or field.checksum or field.at) and "-" or "0"
end

local function aligned(rows)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  for r, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do cells[i] = cell .. (" "):rep(widths[i] - #cell) end
    lines[r] = "  " .. table.concat(cells, "  "):gsub("%s+$", "")
  end
  return lines
end

local function all_flags(protocol)
  local present = {}
  for _, flag in ipairs(protocol.flags) do present[flag] = true end
  return present
end

local function add_fields(lines, protocol, subtype, title)
  local layout = protocol:layout(subtype, all_flags(protocol))
  local rows = {{"FIELD", "BITS", "LABEL", "DEFAULT", "MEANING"}}
  for _, field in ipairs(layout.fields) do
    rows[#rows + 1] = {field.name, tostring(field.bits), protocol.name .. field.label,
      default_text(field), meaning(field)}
  end
  local variable = layout.variable
  if variable then
    rows[#rows + 1] = {variable.name, "...", protocol.name .. variable.label, "-",
      "variable, " .. (variable.from and "its size from " .. variable.from.name
        or variable.rest and "all that follows" or "its size from its contents")}
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = title
  for _, line in ipairs(aligned(rows)) do lines[#lines + 1] = line end
end

local function below_text(def)
  local words = {}
  for i, lower in ipairs(registry.lowers(def.name)) do
    words[i] = ("%s (%s)"):format(lower,
      numbers(registry.values(lower, def.name), lower))
  end
  return #words > 0 and wrapped("Lies over:", words) or nil
end

local function above_text(protocol)
  local next = protocol.default.next
  if type(next) == "string" then return "Followed by: " .. next end
  if type(next) == "function" then return "Followed by: what its contents say" end
  if not next then return "Followed by: payload" end
  local table_name, words, seen = next.as or protocol.name, {}, {}
  for _, entry in ipairs(registry.followers(table_name)) do
    local name = entry[2]
    if not seen[name] then
      words[#words + 1] = ("%s (%s)"):format(name,
        numbers(registry.values(table_name, name), table_name))
    end
    seen[name] = true
  end
  local over = ("Followed by, as %s says:")
    :format(table.concat(next.fields or {next.field}, " or "))
  return wrapped(over, #words > 0 and words or {"payload"})
end

--- The page of the protocol as text. `protocol` is one of the registry.
function page.text(protocol)
  local def, lines = protocol.def, {}
  lines[1] = ("%s: %s"):format(protocol.name, protocol.title)
  if def.source then lines[#lines + 1] = "Source: " .. def.source end
  lines[#lines + 1] = below_text(def)
  lines[#lines + 1] = above_text(protocol)
  local size = protocol.default.size
  add_fields(lines, protocol, nil, ("Fields, %d bytes%s"):format(size,
    #protocol.flags > 0 and " and those that a flag announces" or ""))
  for _, name in ipairs(protocol.subtypes) do
    add_fields(lines, protocol, name, ("Fields with subType = \"%s\", %d bytes")
      :format(name, protocol:layout(name).size))
  end
  return table.concat(lines, "\n") .. "\n"
end

--- A line for each protocol: name, title, bytes, source.
function page.list()
  local rows = {{"NAME", "BYTES", "PROTOCOL", "SOURCE"}}
  for _, name in ipairs(registry.protocols()) do
    local protocol = registry.find(name)
    rows[#rows + 1] = {name, tostring(protocol.default.size), protocol.title,
      protocol.def.source or ""}
  end
  local lines = aligned(rows)
  return (table.concat(lines, "\n"):gsub("^  ", ""):gsub("\n  ", "\n")) .. "\n"
end

return page
