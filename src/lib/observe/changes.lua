-- SPDX-License-Identifier: Apache-2.0
-- What an app has changed in a packet, in words: headers put in front, taken off or
-- behind others, and fields, from the bytes before and after. Pure.

local ffi = require("ffi")
local first_header = require("lib.observe.first_header")
local packet = require("core.packet")
local line = require("lib.stack.packet.line")
local resolve = require("lib.stack.packet.resolve")

local changes = {}

-- A header's fields, {label, value as text} each.
local function fields_of(item, values)
  local fields = {}
  for k, label in ipairs(item.labels or {}) do
    if values[label] ~= nil then
      fields[#fields + 1] = {item.layout.fields[k].label, tostring(values[label])}
    end
  end
  return fields
end

-- Headers from the first on, and where they end.
local function headers_of(p, first)
  local view = resolve(p, first)
  local values, headers, ends = view:get(), {}, 0
  for i, item in ipairs(view.shape.items) do
    headers[i] = {name = item.protocol.name, offset = item.offset,
      fields = fields_of(item, values)}
    ends = item.offset + item.size
  end
  return headers, ends
end

--- What a packet is whose first `bytes` these are, of `length` (if nil: all there are):
--- {text = it on one line, headers = a list of {name, offset in bytes, fields = a list
--- of {label, value as text}}, payload = the bytes behind them, bytes =, length =}. Its
--- first header is of the protocol `first`, if nil as the bytes say
--- (lib.observe.first_header).
function changes.read(bytes, length, first)
  length = length or #bytes
  first = first or first_header.of(bytes, length)
  local read = {bytes = bytes, length = length}
  if first == first_header.PAYLOAD then
    read.text, read.headers, read.payload = "length " .. length, {}, bytes
    return read
  end
  local p = packet.from_string(bytes)
  local headers, ends = headers_of(p, first)
  read.text, read.headers = line.text(p, first), headers
  read.payload = bytes:sub(ends + 1)
  packet.free(p)
  return read
end

-- How many headers of `long` come before those that `short` has, if these follow.
local function in_front(long, short)
  local shift = #long - #short
  for i, header in ipairs(short) do
    if long[i + shift].name ~= header.name then return nil end
  end
  return shift
end

local function names(headers, first, last)
  local list = {}
  for i = first, last do list[#list + 1] = headers[i].name end
  return table.concat(list, ", ")
end

-- The headers that both have, in pairs, and lines about the others.
local function aligned(before, after)
  local grown = #after >= #before
  local long, short = grown and after or before, grown and before or after
  local shift = in_front(long, short)
  if shift and shift > 0 then
    local pairs_of = {}
    for i = 1, #short do
      pairs_of[i] = grown and {before[i], after[i + shift]}
        or {before[i + shift], after[i]}
    end
    return pairs_of, {("%s %s"):format(names(long, 1, shift),
      grown and "put in front" or "taken off")}
  end
  local same, lines = {}, {}
  local n = 0
  while before[n + 1] and after[n + 1] and before[n + 1].name == after[n + 1].name do
    n = n + 1
    same[n] = {before[n], after[n]}
  end
  if n < #before then lines[#lines + 1] = names(before, n + 1, #before) .. " gone" end
  if n < #after then lines[#lines + 1] = names(after, n + 1, #after) .. " new" end
  return same, lines
end

local function add_fields(lines, before, after)
  local old = {}
  for _, field in ipairs(before.fields) do old[field[1]] = field[2] end
  for _, field in ipairs(after.fields) do
    local was = old[field[1]]
    old[field[1]] = nil
    if was ~= field[2] then
      lines[#lines + 1] = ("%s %s %s -> %s"):format(after.name, field[1], was or "none",
        field[2])
    end
  end
  for _, field in ipairs(before.fields) do
    if old[field[1]] then
      lines[#lines + 1] = ("%s %s %s -> none"):format(after.name, field[1], field[2])
    end
  end
end

--- What is different in a packet that was `before` (as of changes.read) and has `bytes`
--- and a `length` now: a list of lines such as "ip4 TTL 64 -> 63"; and what it is now,
--- as of changes.read.
function changes.between(before, bytes, length)
  local first = first_header.after(before, {bytes = bytes, length = length})
  local after = changes.read(bytes, length, first)
  local pairs_of, lines = aligned(before.headers, after.headers)
  for _, pair in ipairs(pairs_of) do add_fields(lines, pair[1], pair[2]) end
  if before.payload ~= after.payload and #lines == 0 then
    lines[#lines + 1] = "bytes behind the headers"
  end
  if before.length ~= length then
    lines[#lines + 1] = ("length %d -> %d"):format(before.length, length)
  end
  return lines, after
end

--- The string of which `text` has the bytes in hex.
function changes.bytes(text)
  local n = #text / 2
  local bytes = ffi.new("uint8_t[?]", math.max(n, 1))
  for i = 0, n - 1 do bytes[i] = tonumber(text:sub(2 * i + 1, 2 * i + 2), 16) end
  return ffi.string(bytes, n)
end

return changes
