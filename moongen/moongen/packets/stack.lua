-- SPDX-License-Identifier: Apache-2.0
-- createStack in libmoon's form: a function that gives a packet's bytes as a C struct
-- of headers, each a member. Whatever has getData() can be cast: a program may bring a
-- type of its own.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local dump = require("moongen.packets.dump")
local headers = require("moongen.packets.headers")
local spelling = require("core.lib.spelling")
local warn = require("moongen.packets.warn")
local shown = require("moongen.arguments").shown
local tables = require("core.lib.tables")
require("core.packet")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local stack = {}

--- libmoon's `proto`: modules of protocols by name. Programs add theirs.
stack.proto = {}

local ALWAYS_ROOM = 512 -- bytes that each buffer has (native/memory.c)
local ICMP_HEADER = 4
local OTHER_NAMES = {ethernet = "eth"}

-- ---- what createStack's arguments say ----

--- {proto =, name =, length =, subType =} of one of createStack's arguments, as
--- libmoon's getHeaderData; nil for nil. In a table of 2016 name and length follow
--- without their keys.
function stack.header_data(argument)
  if argument == nil then return nil end
  if type(argument) ~= "table" then argument = {argument} end
  local name = OTHER_NAMES[argument[1]] or argument[1]
  return {proto = name, name = argument.name or argument[2] or name,
    length = argument.length or argument[3],
    subType = argument.subType or argument.subtype}
end

local function fault(fmt, ...)
  error("createStack: " .. fmt:format(...), 0)
end

local function names()
  local list = {}
  for name in pairs(require("moongen.packets.protocols")) do list[#list + 1] = name end
  for name in pairs(stack.proto) do list[#list + 1] = name end
  return list
end

local function new_item(argument, offset, seen)
  local data = stack.header_data(argument)
  if type(data.proto) ~= "string" then
    fault("a header is a protocol's name, or a table that begins with one, not %s",
      tostring(data.proto))
  end
  local length = data.length or 0
  local type_, sentence = headers.type_of(data.proto, data.subType, length,
    stack.proto[data.proto])
  if not type_ then
    fault("%s%s", sentence, spelling.hint(data.proto, names()))
  elseif seen[data.name] then
    fault("two headers are called '%s'; name one: {'%s', name = 'inner%s'}", data.name,
      data.proto, (data.proto:gsub("^.", string.upper)))
  end
  seen[data.name] = true
  local extra = type_.sized and 0 or length
  return {type = type_, name = data.name, proto = data.proto, offset = offset,
    length = extra, size = type_.size + extra,
    key = ("__%s_%s_%s_%s"):format(data.proto, data.name, data.length or "x",
      data.subType or "x")}
end

local function shape_of(arguments)
  local items, offset, seen, key = {}, 0, {}, {}
  local last = #arguments
  local no_payload = arguments[last] == "noPayload"
  if no_payload then last = last - 1 end
  for i = 1, last do
    items[i] = new_item(arguments[i], offset, seen)
    offset = offset + items[i].size
    key[i] = items[i].key
  end
  local name = last == 0 and "raw" or table.concat(key)
  return {items = items, size = offset, no_payload = no_payload,
    name = "struct " .. name .. (no_payload and "_noPayload" or "")}
end

-- Until 2015 IP's header was `ip` in any packet: the first that has its own name is.
local function first_ip(items)
  local named = {}
  for _, item in ipairs(items) do named[item.name] = item end
  if named.ip then return nil end
  for _, item in ipairs(items) do
    if item.name == "ip4" or item.name == "ip6" then return item end
  end
end

local function declare(shape)
  local members, types = {}, {}
  local ip = first_ip(shape.items)
  for _, item in ipairs(shape.items) do
    local form = item == ip and "union { $ %s; $ ip; };" or "$ %s;"
    members[#members + 1] = form:format(item.name)
    types[#types + 1] = item.type.ctype
    if item == ip then types[#types + 1] = item.type.ctype end
    if item.length > 0 then
      members[#members + 1] = ("uint8_t variable_%s[%d];"):format(item.name,
        item.length)
    end
  end
  if not shape.no_payload then members[#members + 1] = "union payload_t payload;" end
  ffi.cdef(("%s { %s } __attribute__((packed));"):format(shape.name,
    table.concat(members, " ")), unpack(types))
  return ffi.typeof(shape.name)
end

-- ---- methods ----

-- The labels that fill takes; nil if a header doesn't say which.
local function labels_of(shape)
  local known = {pktLength = true}
  for _, item in ipairs(shape.items) do
    local type_, name = item.type, item.name
    if type_.open then return nil end
    for _, label in ipairs(type_.labels or {}) do known[name .. label] = true end
    for label in pairs(type_.layout.by_label) do known[name .. label] = true end
  end
  return known
end

local function warn_of_unknown(shape, args)
  local known = shape.labels
  if known == nil then
    known = labels_of(shape) or false
    shape.labels = known
  end
  for label in pairs(known and args or {}) do
    if not known[label] then
      local list = {}
      for other in pairs(known) do list[#list + 1] = other end
      warn("fill: this packet has no '%s'%s", tostring(label),
        spelling.hint(tostring(label), list))
    end
  end
end

-- A packet of that length is to fit its buffer, as far as that is known.
local function check_length(pkt, length)
  if not (length and length > ALWAYS_ROOM) then return end
  local room = C.pg_packet_room(pkt)
  if room >= 0 and length > room then
    error(("fill: pktLength is %d, and this buffer holds %d bytes "
      .. "(createMemPool{bufSize = ...})"):format(length, room), 3)
  end
end

local function fill(shape)
  return function (pkt, args)
    if args then check_length(pkt, tonumber(args.pktLength)) end
    local named = tables.copy(args)
    if args then warn_of_unknown(shape, args) end
    for i, item in ipairs(shape.items) do
      local header, above = pkt[item.name], shape.items[i + 1]
      named = header:setDefaultNamedArgs(item.name, named, above and above.proto,
        item.offset, item.size) or named
      header:fill(named, item.name)
    end
  end
end

local function get(shape)
  return function (pkt)
    local values = {}
    for _, item in ipairs(shape.items) do
      for label, value in pairs(pkt[item.name]:get(item.name)) do
        values[label] = value
      end
    end
    return values
  end
end

local function refuse_length(length)
  error(("setLength takes a number of bytes, not %s"):format(shown(length)), 3)
end

-- The fields that depend on the packet's length, set without a loop.
local function set_length(shape)
  local lines = {"local max, number = math.max, ...\nreturn function (self, length)",
    "if type(length) ~= 'number' then number(length) end"}
  for _, item in ipairs(shape.items) do
    for _, field in ipairs(item.type.layout and item.type.layout.fields or {}) do
      if field.length == "all" or field.length == "payload" then
        lines[#lines + 1] = ("self.%s:set%s(max(length - %d, 0))"):format(item.name,
          field.name, item.offset + (field.length == "payload" and item.size or 0))
      end
    end
  end
  lines[#lines + 1] = "end"
  return loadstring(table.concat(lines, "\n"), "=setLength")(refuse_length)
end

local function checksum_name(item)
  return "calculate" .. item.name:gsub("^.", string.upper) .. "Checksum"
end

-- ICMP's checksum is over all that IP's length says, as far as it is in the buffer;
-- over IPv6 with its pseudo header (RFC 4443, section 2.3).
local function calculate_icmp(pkt, icmp, ip, version)
  local before = ffi.cast("char *", icmp) - ffi.cast("char *", pkt)
  local size = version == "ip6" and ip:getLength()
    or ip:getLength() - ip:getHeaderLength() * 4
  local room = C.pg_packet_room(pkt)
  if room >= 0 then size = math.min(size, tonumber(room - before)) end
  icmp:calculateChecksum(math.max(size, ICMP_HEADER), version == "ip6" and ip or nil)
end

-- The IP header that is right below an item: its protocol, or nil.
local function ip_below(shape, i)
  local below = shape.items[i - 1]
  return below and (below.proto == "ip4" or below.proto == "ip6") and below or nil
end

-- Inner checksums first: outer ones may cover them. Those of TCP and UDP need the
-- packet (`data`, `length`); without it they are left.
local function calculate_checksums(shape)
  local lines = {"local icmp = ... return function (self, data, length, ip4)"}
  for i = #shape.items, 1, -1 do
    local item, below = shape.items[i], ip_below(shape, i)
    if item.proto == "icmp" and below then
      lines[#lines + 1] = ("icmp(self, self.%s, self.%s, '%s')"):format(item.name,
        below.name, below.proto)
    elseif item.proto == "ip4" or item.proto == "icmp" then
      lines[#lines + 1] = ("self.%s:calculateChecksum()"):format(item.name)
    elseif item.proto == "tcp" or item.proto == "udp" then
      lines[#lines + 1] = ("if length then "
        .. "self.%s:calculateChecksum(data, length, ip4) end"):format(item.name)
    end
  end
  lines[#lines + 1] = "end"
  return loadstring(table.concat(lines, "\n"), "=calculateChecksums")(calculate_icmp)
end

local function methods_of(shape, arguments)
  local methods = {fill = fill(shape), get = get(shape),
    setLength = set_length(shape), calculateChecksums = calculate_checksums(shape)}
  function methods.getArgs() return {unpack(arguments)} end
  function methods.getName() return shape.name end
  function methods.getHeader(pkt, header)
    return pkt[stack.header_data(header).name]
  end
  function methods.getHeaders(pkt)
    local list = {}
    for i, item in ipairs(shape.items) do list[i] = pkt[item.name] end
    return list
  end
  function methods.dump(pkt, bytes, stream, colored, wireshark)
    dump.packet(pkt, shape, bytes, stream, colored, wireshark)
  end
  function methods.resolveLastHeader(pkt)
    return stack.resolve(pkt, nil, shape)
  end
  for i, item in ipairs(shape.items) do
    local below = ip_below(shape, i)
    if item.proto == "icmp" and below and below.proto == "ip6" then
      methods[checksum_name(item)] = function (pkt)
        calculate_icmp(pkt, pkt[item.name], pkt[below.name], "ip6")
      end
    elseif rawget(item.type.methods, "calculateChecksum") then
      methods[checksum_name(item)] = function (pkt, ...)
        pkt[item.name]:calculateChecksum(...)
      end
    end
  end
  return methods
end

-- ---- casts ----

-- Each is compiled apart from the others, so that LuaJIT sees constant C types. No tail
-- calls: a trace may have only 15.
local CAST = [[
local cast, istype, Packet, T, data_of = ...
return function (p)
  if istype(Packet, p) then return (cast(T, p.buf_addr + p.data_off)) end
  return (cast(T, data_of(p)))
end]]

local function getter(value) return value.getData end

--- What value:getData() gives. Raises a sentence if it hasn't that.
function stack.data_of(value)
  local ok, method = pcall(getter, value)
  if ok and method then return method(value) end
  error(("a buffer can be cast to headers, not %s"):format(shown(value)), 3)
end

local made = {} -- by the struct's name
local shapes = setmetatable({}, {__mode = "k"}) -- of casts

local function new_stack(arguments)
  local shape = shape_of(arguments)
  local found = made[shape.name]
  if found then return found end
  shape.arguments = arguments
  local ctype = declare(shape)
  ffi.metatype(ctype, {__index = methods_of(shape, arguments)})
  shape.pointer = ffi.typeof("$ *", ctype)
  local cast = loadstring(CAST, "=cast")(ffi.cast, ffi.istype,
    ffi.typeof("struct packet"), shape.pointer, stack.data_of)
  made[shape.name], shapes[cast] = cast, shape
  return cast
end

--- A function that casts a packet to these headers, outermost first. Each is a
--- protocol's name or a table: {"eth", name = "innerEth", subType = "vlan", length =
--- bytes of the variable part}; last may come "noPayload". Raises a sentence if there
--- is no such stack.
function stack.create(...)
  local arguments = {...}
  local ok, result = pcall(new_stack, arguments)
  if not ok then error(result, 2) end
  return result
end

--- Has a stack of these arguments (a list) been made? It is returned.
function stack.made(arguments)
  local ok, shape = pcall(shape_of, arguments)
  return ok and made[shape.name] or nil
end

--- The shape of a cast: `items`, `size`, `pointer` (a C type), `arguments`.
function stack.shape(cast) return shapes[cast] end

--- Names of the structs of all stacks.
function stack.names()
  return tables.sorted_keys(made)
end

return stack
