-- SPDX-License-Identifier: Apache-2.0
-- A stack's fields as a table, and as text (slow code).

local ffi = require("ffi")

local text = {}

local function pointer_to(item, p)
  return ffi.cast(item.layout.slow_pointer, p.buf_addr + p.data_off + item.offset)
end

local function is_address(field)
  return field.kind ~= "uint" and field.kind ~= "bytes"
end

-- A header that the packet has whole.
local function is_there(item, p)
  return item.offset + item.size <= p.length
end

-- The getters of a layout's fields, and the labels under a header's name: made once.
local function getters_of(layout)
  local getters = {}
  for i, field in ipairs(layout.fields) do
    getters[i] = layout.slow["get" .. field.name .. (is_address(field) and "String"
      or "")]
  end
  return getters
end

local function labels_of(layout, prefix)
  local labels = {}
  for i, field in ipairs(layout.fields) do labels[i] = prefix .. field.label end
  return labels
end

--- The fields of all headers under the labels that `fill` takes: numbers, and strings
--- for addresses and bytes. Headers that the packet is too short for are left out.
function text.get(shape, p)
  local values = {pktLength = p.length}
  for _, item in ipairs(shape.items) do
    if not is_there(item, p) then break end
    local header = pointer_to(item, p)
    local layout = item.layout
    layout.getters = layout.getters or getters_of(layout)
    item.labels = item.labels or labels_of(layout, item.label)
    for i, getter in ipairs(layout.getters) do
      values[item.labels[i]] = getter(header)
    end
    local variable = item.layout.variable
    if variable and item.variable > 0 then
      values[item.label .. variable.label] =
        ffi.string(ffi.cast("uint8_t *", header) + item.layout.size, item.variable)
    end
  end
  return values
end

--- A header (a slow pointer) of this layout on one line: "UDP SrcPort 53 ...".
function text.header(layout, header)
  local parts = {layout.protocol.title}
  for _, field in ipairs(layout.fields) do
    if not field.at then
      parts[#parts + 1] = field.name .. " "
        .. layout.slow["get" .. field.name .. "String"](header)
    end
  end
  return table.concat(parts, " ")
end

--- The headers, a line each; one that the packet is too short for is told so.
function text.lines(shape, p)
  local lines = {}
  for _, item in ipairs(shape.items) do
    if not is_there(item, p) then
      lines[#lines + 1] = ("%s: the packet ends before or in it")
        :format(item.protocol.title)
      break
    end
    lines[#lines + 1] = text.header(item.layout, pointer_to(item, p))
  end
  return lines
end

return text
