-- SPDX-License-Identifier: Apache-2.0
-- Checksums of a stack's headers. What one covers ends where the nearest length below
-- says (padding isn't part of it), and at most where the packet does.

local ffi = require("ffi")
local checksum = require("net.checksum.checksum")
local data_of = require("lib.stack.layout.data_of")
local C = require("core.declare")("net/checksum/checksum.h")
local registry = require("lib.stack.registry")

local sums = {}

local ADDRESSES = {ip4 = {12, 8}, ip6 = {8, 32}} -- offset and bytes of both

local function field_with(layout, wanted)
  for _, field in ipairs(layout.fields) do
    if wanted(field) then return field end
  end
end

local function has_checksum(field) return field.checksum end

local function tells_end(field)
  return field.length == "all" or field.length == "payload"
end

-- The nearest header, from item i down, whose length field says where things end.
local function length_below(shape, i)
  for k = i, 1, -1 do
    local item = shape.items[k]
    local field = field_with(item.layout, tells_end)
    if field then
      return {item = item, field = field,
        start = item.offset + (field.length == "payload" and item.size or 0)}
    end
  end
end

-- The IP header below item i, and the routing headers between, the lowest first.
local function ip_below(shape, i)
  local routes = {}
  for k = i - 1, 1, -1 do
    local item = shape.items[k]
    if ADDRESSES[item.protocol.name] then return item, routes end
    if item.protocol.destination then table.insert(routes, 1, item) end
  end
end

--- The checksums of the shape, innermost first: a list of {item, field, ends, ip,
--- number, routes}; `ends` tells where what it covers ends, the last three are for
--- pseudo headers: routes may have the packet's final destination (RFC 8200, 8.1).
function sums.list(shape)
  local list = {}
  for i = #shape.items, 1, -1 do
    local item = shape.items[i]
    local field = field_with(item.layout, has_checksum)
    local entry = field and {item = item, field = field, ends = length_below(shape, i)}
    if entry and field.checksum == "pseudo" then
      entry.ip, entry.routes = ip_below(shape, i)
      entry.number = registry.values("ip4", item.protocol.name)[1]
      if not (entry.ip and entry.number) then entry = nil end
    end
    -- What an error message quotes is only the start of a packet.
    if entry and item.quoted and field.checksum ~= "header" then entry = nil end
    list[#list + 1] = entry
  end
  return list
end

-- The sum of two partial sums of 16 bits.
local function add16(a, b)
  local sum = a + b
  return bit.band(sum, 0xffff) + bit.rshift(sum, 16)
end

-- For packet loops: source for each checksum ---------------------------------------

local function add(lines, fmt, ...)
  lines[#lines + 1] = fmt:format(...)
end

local function add_extent(lines, entry, i, arguments)
  local item = entry.item
  if entry.field.checksum == "header" then
    return add(lines, "local n = %d", item.size)
  end
  add(lines, "local n = p.length - %d", item.offset)
  local ends = entry.ends
  if ends then
    add(lines, "local told = (getLength%d(cast(L%d, d + %d)) + %d) * %d - %d", i, i,
      ends.item.offset, -(ends.field.bias or 0), ends.field.unit or 1,
      item.offset - ends.start)
    add(lines, "if told >= %d and told < n then n = told end", item.size)
    arguments["L" .. i] = ends.item.layout.fast_pointer
    arguments["getLength" .. i] = ends.item.layout.fast["get" .. ends.field.name]
  end
end

local function add_pseudo(lines, entry, i, arguments)
  local at = ADDRESSES[entry.ip.protocol.name]
  local source = entry.ip.offset + at[1]
  add(lines, "local pseudo = C.pg_pseudo_sum(d + %d, %d, %d, n)", source, at[2],
    entry.number)
  for k, route in ipairs(entry.routes) do
    local name = i .. "_" .. k
    add(lines, "local o = destination%s(cast(R%s, d + %d), %d)", name, name,
      route.offset, route.size)
    add(lines, "if o and o >= 0 and o <= %d then", route.size - 16)
    add(lines, "pseudo = add16(C.pg_pseudo_sum(d + %d, 16, %d, n),", source,
      entry.number)
    add(lines, "C.pg_pseudo_sum(d + %d + o, 16, 0, 0)) end", route.offset)
    arguments["destination" .. name] = route.protocol.destination
    arguments["R" .. name] = route.layout.fast_pointer
  end
end

local function add_checksum(lines, entry, i, arguments)
  local item, field = entry.item, entry.field
  add(lines, "do")
  add_extent(lines, entry, i, arguments)
  add(lines, "if n >= %d then", item.size) -- a cast that wasn't checked may be shorter
  add(lines, "local h = cast(H%d, d + %d)", i, item.offset)
  add(lines, "set%d(h, 0)", i)
  arguments["H" .. i] = item.layout.fast_pointer
  arguments["set" .. i] = item.layout.fast["set" .. field.name]
  if field.checksum == "crc32c" then
    add(lines, "local sum = C.pg_crc32c(d + %d, n, 0)", item.offset)
  elseif entry.ip then
    add_pseudo(lines, entry, i, arguments)
    add(lines, "local sum = C.pg_checksum(d + %d, n, pseudo)", item.offset)
  else
    add(lines, "local sum = C.pg_checksum(d + %d, n, 0)", item.offset)
  end
  if field.zero then add(lines, "if sum == 0 then sum = %d end", field.zero) end
  add(lines, "set%d(h, sum)", i)
  add(lines, "end end")
end

local function no_packet(value)
  error(("checksums are calculated of a packet, by a colon, not of %s"):format(
    type(value) == "string" and "'" .. value .. "'" or tostring(value)), 3)
end

local function compile(list)
  local lines, arguments = {}, {}
  for i, entry in ipairs(list) do add_checksum(lines, entry, i, arguments) end
  local names, values = {}, {}
  for name, value in pairs(arguments) do
    names[#names + 1], values[#values + 1] = ", " .. name, value
  end
  local source = ([[
local C, cast, add16, type, no_packet%s = ...
return function (p)
if type(p) ~= "cdata" then no_packet(p) end
local d = p.buf_addr + p.data_off
%s
end]]):format(table.concat(names), table.concat(lines, "\n"))
  return loadstring(source, "=calculateChecksums")(C, ffi.cast, add16, type,
    no_packet, unpack(values))
end

--- A function (packet) for packet loops that sets all checksums, innermost first.
function sums.calculator(shape)
  return compile(sums.list(shape))
end

--- The same for the checksum of one item only; nil if it has none.
function sums.calculator_of(shape, item)
  for _, entry in ipairs(sums.list(shape)) do
    if entry.item == item then return compile{entry} end
  end
end

-- Checking: slow --------------------------------------------------------------------

-- The bytes the checksum covers, in a packet that has the header whole.
local function extent(entry, p)
  local item, ends = entry.item, entry.ends
  if entry.field.checksum == "header" then return item.size end
  local n = p.length - item.offset
  if not ends then return n end
  local below = ffi.cast(ends.item.layout.slow_pointer, data_of(p) + ends.item.offset)
  local value = ends.item.layout.slow["get" .. ends.field.name](below)
  local told = (tonumber(value) - (ends.field.bias or 0)) * (ends.field.unit or 1)
    - (item.offset - ends.start)
  return told >= item.size and math.min(told, n) or n
end

-- The CRC with the four bytes at `hole` taken as 0.
local function crc32c(start, n, hole)
  local zeros = ffi.new("uint8_t[4]")
  local crc = C.pg_crc32c(start, hole, 0)
  crc = C.pg_crc32c(zeros, 4, crc)
  return C.pg_crc32c(start + hole + 4, n - hole - 4, crc)
end

local function pseudo_sum(entry, data, n)
  local at = ADDRESSES[entry.ip.protocol.name]
  local source = data + entry.ip.offset + at[1]
  local sum = C.pg_pseudo_sum(source, at[2], entry.number, n)
  for _, route in ipairs(entry.routes) do
    local header = ffi.cast(route.layout.slow_pointer, data + route.offset)
    local o = route.protocol.slow_destination(header, route.size)
    if o and o >= 0 and o <= route.size - 16 then
      sum = add16(C.pg_pseudo_sum(source, 16, entry.number, n),
        C.pg_pseudo_sum(data + route.offset + o, 16, 0, 0))
    end
  end
  return sum
end

-- The internet checksum with the field's value taken as 0.
local function internet(entry, p, n, value)
  local initial = entry.ip and pseudo_sum(entry, data_of(p), n) or 0
  local sum = C.pg_checksum(data_of(p) + entry.item.offset, n, initial)
  return checksum.update16(sum, value, 0)
end

--- The checksum's value in the packet, and the right one; false and nothing if the
--- packet has none (UDP's 0).
function sums.compare(entry, p)
  local item, field = entry.item, entry.field
  local header = ffi.cast(item.layout.slow_pointer, data_of(p) + item.offset)
  local value = item.layout.slow["get" .. field.name](header)
  if field.optional and value == 0 then return false end
  local n = extent(entry, p)
  if field.checksum == "crc32c" then
    return value, crc32c(data_of(p) + item.offset, n, field.offset / 8)
  end
  local right = internet(entry, p, n, value)
  if right == 0 and (field.zero or value == 0xffff) then right = 0xffff end
  return value, right
end

--- Set all checksums of the packet, innermost first (slow code; see calculator).
function sums.set(shape, p)
  for _, entry in ipairs(sums.list(shape)) do
    local item, field = entry.item, entry.field
    if item.offset + item.size <= p.length then
      local header = ffi.cast(item.layout.slow_pointer, data_of(p) + item.offset)
      local set = item.layout.slow["set" .. field.name]
      set(header, 1) -- 0 may mean that there is none
      local _, right = sums.compare(entry, p)
      set(header, right)
    end
  end
end

return sums
