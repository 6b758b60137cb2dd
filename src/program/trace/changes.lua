-- SPDX-License-Identifier: Apache-2.0
-- What an app has changed in a packet, in words: headers put in front, taken off or
-- behind others, and fields, from the bytes before and after. Pure.

local ffi = require("ffi")
local packet = require("core.packet")
local line = require("lib.stack.packet.line")
local resolve = require("lib.stack.packet.resolve")

local changes = {}

--- What the packet of these bytes is: {text = it on one line, headers = a list of
--- {name, fields = a list of {label, value as text}}, payload = the bytes behind them}.
function changes.read(bytes)
  local p = packet.from_string(bytes)
  local view = resolve(p)
  local values, headers = view:get(), {}
  local ends = 0
  for i, item in ipairs(view.shape.items) do
    local fields = {}
    for k, label in ipairs(item.labels or {}) do
      if values[label] ~= nil then
        fields[#fields + 1] = {item.layout.fields[k].label, tostring(values[label])}
      end
    end
    headers[i] = {name = item.protocol.name, fields = fields}
    ends = item.offset + item.size
  end
  local text = line.text(p, "eth")
  packet.free(p)
  return {text = text, headers = headers, payload = bytes:sub(ends + 1)}
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

--- What is different in the bytes `after`, a list of lines such as "ip4 TTL 64 -> 63".
--- `length_before` and `length_after` are those of the whole packets.
function changes.between(before, after, length_before, length_after)
  local old, new = changes.read(before), changes.read(after)
  local pairs_of, lines = aligned(old.headers, new.headers)
  for _, pair in ipairs(pairs_of) do add_fields(lines, pair[1], pair[2]) end
  if old.payload ~= new.payload and #lines == 0 then
    lines[#lines + 1] = "bytes behind the headers"
  end
  if length_before ~= length_after then
    lines[#lines + 1] = ("length %d -> %d"):format(length_before, length_after)
  end
  return lines
end

--- The string of which `text` has the bytes in hex.
function changes.bytes(text)
  local n = #text / 2
  local bytes = ffi.new("uint8_t[?]", math.max(n, 1))
  for i = 0, n - 1 do bytes[i] = tonumber(text:sub(2 * i + 1, 2 * i + 2), 16) end
  return ffi.string(bytes, n)
end

return changes
