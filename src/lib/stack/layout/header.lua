-- SPDX-License-Identifier: Apache-2.0
-- Where a header's fields are. A layout is one arrangement of a protocol's fields:
-- a subtype, and which optional fields are there. Its bytes are split into cells,
-- which are the members of the C struct: a cell is always read and written as one,
-- through one C type, so that LuaJIT sees which accesses meet (it distinguishes
-- memory by C type). Fields that share bytes share a cell.

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local layout = {}

local KINDS = {
  uint = true, bytes = true, flag = {bits = 1},
  mac = {bits = 48, ctype = "struct perigee_mac"},
  ip4 = {bits = 32, ctype = "struct perigee_ip4"},
  ip6 = {bits = 128, ctype = "struct perigee_ip6"},
}
local WHOLE = {[1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"}

local function fault(proto, fmt, ...)
  error(("protocol '%s': "):format(proto) .. fmt:format(...), 0)
end

local function lower_first(name)
  return (name:gsub("^.", string.lower))
end

local function new_field(raw, proto)
  local name, bits, kind = raw[1], raw[2], raw[3] or "uint"
  if type(name) ~= "string" or not name:match("^%a[%w]*$") then
    fault(proto, "a field's name is letters and digits, not '%s'", tostring(name))
  end
  if not KINDS[kind] then
    fault(proto, "field %s has type '%s'; "
      .. "there are uint, flag, mac, ip4, ip6 and bytes", name, tostring(kind))
  end
  if type(bits) ~= "number" or bits < 1 or bits % 1 ~= 0 then
    fault(proto, "field %s has '%s' bits", name, tostring(bits))
  end
  local wanted = type(KINDS[kind]) == "table" and KINDS[kind].bits
  if wanted and bits ~= wanted then
    fault(proto, "field %s has %d bits, but type %s has %d", name, bits, kind, wanted)
  end
  if kind == "uint" and bits > 64 then
    fault(proto, "field %s has %d bits; a number has up to 64", name, bits)
  end
  local flag = kind == "flag" -- a number to all but getters
  local field = {name = name, bits = bits, kind = flag and "uint" or kind,
    flag = flag}
  for key, value in pairs(raw) do
    if type(key) == "string" then field[key] = value end
  end
  field.member = field.member or lower_first(name)
  field.label = field.label or name
  field.labels = {field.label}
  for _, alias in ipairs(field.aliases or {}) do
    field.labels[#field.labels + 1] = alias
  end
  if field.label ~= name then field.labels[#field.labels + 1] = name end
  return field
end

local function check_alignment(field, proto)
  if field.kind ~= "uint" and (field.offset % 8 ~= 0 or field.bits % 8 ~= 0) then
    fault(proto, "field %s of type %s must begin and end at a byte",
      field.name, field.kind)
  end
end

-- Bit offsets; views (`at`) begin where another field does. The size in bytes.
local function place(fields, by_name, proto)
  local position = 0
  for _, field in ipairs(fields) do
    if not field.at then
      field.offset, position = position, position + field.bits
    end
  end
  if position % 8 ~= 0 then
    fault(proto, "the fields have %d bits in all, which isn't whole bytes", position)
  end
  for _, field in ipairs(fields) do
    local other = field.at and by_name[field.at]
    if field.at and (not other or other.at) then
      fault(proto, "field %s is at '%s', which isn't a field", field.name,
        tostring(field.at))
    end
    if other then field.offset = other.offset end
    if field.offset + field.bits > position then
      fault(proto, "field %s reaches behind the last one", field.name)
    end
    check_alignment(field, proto)
  end
  return position / 8
end

-- Runs of bytes that fields share, in order.
local function make_cells(fields, size)
  local sorted = {}
  for i, field in ipairs(fields) do sorted[i] = field; field.rank = i end
  table.sort(sorted, function (a, b)
    if a.offset ~= b.offset then return a.offset < b.offset end
    return a.rank < b.rank
  end)
  local cells, cell = {}, nil
  for _, field in ipairs(sorted) do
    local first = math.floor(field.offset / 8)
    local behind = math.ceil((field.offset + field.bits) / 8)
    if not cell or first >= cell.behind then
      cell = {first = first, behind = behind, fields = {}}
      cells[#cells + 1] = cell
    end
    cell.behind = math.max(cell.behind, behind)
    cell.fields[#cell.fields + 1] = field
    field.cell = cell
  end
  assert(#cells == 0 or cells[#cells].behind == size)
  return cells
end

-- A cell that fields share has the name that one of them gives it (`cell_name`), for
-- programs that read it as it lies there.
local function shared_name(cell)
  for _, field in ipairs(cell.fields) do
    if field.cell_name then return field.cell_name end
  end
  return "bits" .. cell.first
end

-- The C member, with %s for its name.
local function declare(cell, proto)
  local field = cell.fields[1]
  cell.bytes = cell.behind - cell.first
  cell.member = #cell.fields == 1 and field.member or shared_name(cell)
  cell.slot = cell.member .. "_"
  if field.kind ~= "uint" then
    if #cell.fields > 1 then
      fault(proto, "another field overlaps %s, which isn't a number", field.name)
    end
    if field.kind == "bytes" then
      return ("uint8_t %%s[%d];"):format(cell.bytes)
    end
    return KINDS[field.kind].ctype .. " %s;"
  end
  if cell.bytes > 8 then
    fault(proto, "the bit fields around %s span more than 8 bytes", field.name)
  end
  cell.whole = WHOLE[cell.bytes]
  if cell.whole then return cell.whole .. " %s;" end
  if cell.bytes == 3 and field.order ~= "le" then -- VXLAN's VNI; see accessors.lua
    cell.split = true
    return "struct { uint16_t high; uint8_t low; } __attribute__((packed)) %s;"
  end
  return ("uint8_t %%s[%d];"):format(cell.bytes)
end

-- The C struct of the cells, their names under `key`; of the variable part, too.
local function struct_of(cells, key)
  local lines = {}
  for i, cell in ipairs(cells) do lines[i] = cell.declared:format(cell[key]) end
  return ("struct { %s } __attribute__((packed))"):format(table.concat(lines, " "))
end

--- The layout of the `raw` fields (a definition's list) for the protocol named
--- `proto`, with those optional fields whose flag is in the set `present`; `variable`
--- is the name of a member of variable size at the end, or nil, and `variable_type` its
--- C declaration with %s for the name, or nil for bytes. It has `fields`, `by_name`,
--- `by_label`, `size` (bytes), `cells`, `declaration` (a C struct), and `slots`: the
--- same with the names that lib.stack.layout.members translates to.
function layout.new(proto, raw, present, variable, variable_type)
  local fields, by_name, by_label = {}, {}, {}
  for _, entry in ipairs(raw) do
    if not entry.when or present[entry.when] then
      local field = new_field(entry, proto)
      if by_name[field.name] then
        fault(proto, "two fields are called %s", field.name)
      end
      fields[#fields + 1], by_name[field.name] = field, field
    end
  end
  for _, entry in ipairs(raw) do
    local flag = by_name[entry.when]
    if flag and flag.bits == 1 then flag.flag = true end
  end
  for _, field in ipairs(fields) do
    for _, label in ipairs(field.labels) do
      by_label[label] = by_label[label] or field
    end
  end
  for _, field in ipairs(fields) do by_label[field.label] = field end
  local size = place(fields, by_name, proto)
  local cells = make_cells(fields, size)
  for _, cell in ipairs(cells) do cell.declared = declare(cell, proto) end
  if variable then
    cells[#cells + 1] = {fields = {}, member = variable, slot = variable .. "_",
      declared = (variable_type or "uint8_t %s[0]") .. ";"}
  end
  return {
    fields = fields, by_name = by_name, by_label = by_label, size = size,
    cells = cells, declaration = struct_of(cells, "member"),
    slots = struct_of(cells, "slot"),
  }
end

return layout
