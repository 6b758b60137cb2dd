-- SPDX-License-Identifier: Apache-2.0
-- Header types: those of moongen.packets.protocols, with libmoon's methods, and those
-- that a program defines in libmoon's form (`headerFormat`, a C struct's members, and
-- `metatype`). A header type has `ctype`, `size` (bytes), `methods`, `name`, `subtype`,
-- and `layout` if it is one of ours.

local bit = require("bit")
local cells = require("lib.stack.layout.cells")
local ffi = require("ffi")
local checksum = require("net.checksum.checksum")
local ctypes = require("lib.stack.ctypes")
local fields = require("moongen.packets.fields")
local layouts = require("lib.stack.layout.header")
local protocols = require("moongen.packets.protocols")
local registry = require("lib.stack.registry")

local headers = {}

local band, bswap, rshift = bit.band, bit.bswap, bit.rshift
local bytes_t = ffi.typeof("uint8_t *")

-- What follows a header, and where a variable part is: bytes under any width.
local payload_index, set_payload = cells.payload("payload_t", function (payload, i)
  if type(i) == "number" then return payload.uint8_[i] end
  error(("a payload has uint8, uint16, uint32 and uint64, not '%s'")
    :format(tostring(i)), 2)
end, function (_, i)
  error(("a payload has uint8, uint16, uint32 and uint64 to set, not '%s'")
    :format(tostring(i)), 2)
end)
ffi.metatype("union payload_t", {
  __index = payload_index,
  __newindex = function (payload, i, value)
    if type(i) ~= "number" then return set_payload(payload, i, value) end
    payload.uint8_[i] = value
  end,
})

-- ---- text ----

local function text_of(field, value)
  local name = field.names and field.names[value]
  if name and (not field.other) then return name end
  if type(value) == "string" then
    return "0x" .. value:gsub(".", function (c) return ("%02x"):format(c:byte()) end)
  end
  if not field.text then
    return field.values and field.values[tonumber(value)] or (tostring(value)
      :gsub("U?LL$", ""))
  end
  local text = field.text:format(type(value) == "cdata" and tonumber(value) or value)
  return field.other and text .. " " .. (name or field.other) or text
end

local function options_text(header, layout)
  local size = header:getVariableLength() or 0
  if size <= 0 then return "-" end
  local bytes, texts = ffi.cast(bytes_t, header) + layout.size, {}
  for i = 1, size do texts[i] = ("%02x"):format(bytes[i - 1]) end
  return "0x" .. table.concat(texts)
end

local function arp_line(header)
  local op = header:getOperation()
  local text = ("ARP hrd %s (hln %d) pro %s (pln %d) op %s"):format(
    header:getHardwareAddressTypeString(), header:getHardwareAddressLength(),
    header:getProtoAddressTypeString(), header:getProtoAddressLength(),
    header:getOperationString())
  local hs, hd = header:getHardwareSrcString(), header:getHardwareDstString()
  local ps, pd = header:getProtoSrcString(), header:getProtoDstString()
  if op == 1 then
    return ("%s who-has %s (%s) tell %s (%s)"):format(text, pd, hd, ps, hs)
  elseif op == 2 then
    return ("%s %s is-at %s (for %s @ %s)"):format(text, ps, hs, pd, hd)
  end
  return ("%s %s > %s %s > %s"):format(text, hs, hd, ps, pd)
end

local function add_texts(type_, spec)
  local methods, layout = type_.methods, type_.layout
  for _, field in ipairs(layout.fields) do
    local get = layout.slow["get" .. field.name]
    if field.kind == "uint" or field.kind == "bytes" then
      for _, name in ipairs{field.name, unpack(field.aliases or {})} do
        methods["get" .. name .. "String"] = function (header)
          return text_of(field, get(ffi.cast(layout.slow_pointer, header)))
        end
      end
    end
  end
  if spec.variable == "options" then
    methods.getOptionsString = function (header) return options_text(header, layout) end
  end
  methods.getString = spec.line and function (header)
    return (spec.line:gsub("{(%w+)}", function (name)
      return header["get" .. name .. "String"](header)
    end))
  end or arp_line
end

-- ---- what follows ----

-- Numbers that lib.stack doesn't know, or not by that name: what libmoon calls icmp
-- over IPv6, and those of protocols that a script's checkout has of its own.
local OVER = {ip6 = {icmp = {58}}}

--- The header `lower` announces `upper`, a protocol in libmoon's form, by `number`.
function headers.announce(lower, upper, number)
  OVER[lower] = OVER[lower] or {}
  OVER[lower][upper] = {number}
end

local function values(lower, upper)
  local own = OVER[lower] and OVER[lower][upper]
  if own then return own end
  local next = registry.find(lower).def.next
  return registry.values(type(next) == "table" and next.as or lower, upper)
end

local function next_field(layout, def)
  local next = def.next
  if type(next) ~= "table" then return nil end
  return layout.by_name[next.field or next.fields[1]]
end

local function add_next(type_, name, def)
  local field = next_field(type_.layout, def)
  local get = field and type_.layout.slow["get" .. field.name]
  function type_.methods.resolveNextHeader(header)
    if not field then return type(def.next) == "string" and def.next or nil end
    local value = get(ffi.cast(type_.layout.slow_pointer, header))
    for upper in pairs(protocols) do
      for _, number in ipairs(values(name, upper)) do
        if number == value then return upper end
      end
    end
    for upper, numbers in pairs(OVER[name] or {}) do
      if numbers[1] == value then return upper end
    end
  end
  return field
end

local BYTES = {
  all = function (total, before) return total - before end,
  payload = function (total, before, size) return total - before - size end,
  header = function (_, _, size) return size end,
}

local function is_given(args, prefix, field)
  for _, label in ipairs(field.labels) do
    if args[prefix .. label] ~= nil then return true end
  end
  return false
end

-- libmoon's setDefaultNamedArgs: what a header's defaults are in this packet, put into
-- `args`, which is returned.
local function add_defaults(type_, name, next)
  local layout = type_.layout
  function type_.methods.setDefaultNamedArgs(_, prefix, args, upper, before, size)
    local total = tonumber(args.pktLength)
    if next and upper and not is_given(args, prefix, next) then
      if upper == "ethernet" then upper = "eth" end
      args[prefix .. next.label] = values(name, upper)[1]
    end
    for _, field in ipairs(layout.fields) do
      local bytes = (total or field.length == "header") and BYTES[field.length]
      if bytes and not is_given(args, prefix, field) then
        args[prefix .. field.label] = math.floor(math.max(0, bytes(total, before, size))
          / (field.unit or 1)) + (field.bias or 0)
      end
    end
    local wanted = upper and registry.find(upper)
    wanted = wanted and wanted.def.below and wanted.def.below[name]
    for label, value in pairs(wanted or {}) do
      if args[prefix .. label] == nil then args[prefix .. label] = value end
    end
    return args
  end
end

-- ---- checksums ----


local IP4_HEADER, IP6_HEADER, ETHERNET = 20, 40, 14 -- bytes

local calculate = {}

function calculate.ip4(header)
  header:setChecksum(0)
  local bytes = math.max(IP4_HEADER, header:getHeaderLength() * 4)
  header:setChecksum(checksum.of(header, bytes))
end

-- Over `length` bytes; of ICMPv6 if the IPv6 header below is given.
function calculate.icmp(header, length, ip6)
  length = length or 4
  header:setChecksum(0)
  header:setChecksum(checksum.of(header, length,
    ip6 and checksum.pseudo6(ip6, checksum.ICMPV6, length)))
end

-- The checksum of TCP or UDP in a whole packet of `length` bytes that begins at `data`
-- with an Ethernet header (of 14 bytes), over IPv4 unless `ip4` is false.
local function over_ip(protocol)
  return function (header, data, length, ip4)
    if type(length) ~= "number" or not data then
      error("the checksum takes the packet's data, and its length in bytes: "
        .. "calculateChecksum(buf:getData(), buf:getSize())", 2)
    end
    local ip = ffi.cast(bytes_t, data) + ETHERNET
    local bytes = length - ETHERNET - (ip4 == false and IP6_HEADER
      or band(ip[0], 15) * 4)
    local pseudo = (ip4 == false and checksum.pseudo6 or checksum.pseudo4)(ip, protocol,
      bytes)
    header:setChecksum(0)
    local sum = checksum.of(header, bytes, pseudo)
    header:setChecksum(protocol == checksum.UDP and checksum.udp(sum) or sum)
  end
end

calculate.tcp = over_ip(checksum.TCP)
calculate.udp = over_ip(checksum.UDP)

-- ---- making them ----

local special = {} -- what else the methods of a protocol's headers do

-- libmoon's Reserved are 6 bits, the upper 2 of which are flags by now, and Flags 6.
function special.tcp(methods)
  function methods:getReserved()
    return band(self.offset, 15) * 4 + rshift(self.flags, 6)
  end
  function methods:setReserved(value)
    value = value or 0
    self.offset = band(self.offset, 0xf0) + band(rshift(value, 2), 15)
    self.flags = band(self.flags, 0x3f) + band(value, 3) * 64
  end
  function methods:getFlags() return band(self.flags, 0x3f) end
  function methods:setFlags(value)
    self.flags = band(self.flags, 0xc0) + band(value or 0, 0x3f)
  end
end

function special.icmp(methods)
  function methods.setMessageBody() end -- libmoon's does nothing
  function methods.getMessageBody() return 0 end
  function methods.getMessageBodyString() return "<some data>" end
end

-- Setters of a tag's 16 bits, under the name of the 12 that are its identifier.
local function add_whole(type_, whole)
  for name, member in pairs(whole or {}) do
    local function set(header, value)
      header[member] = rshift(bswap(value or 0), 16)
    end
    type_.methods["set" .. name] = set
    type_.layout.by_name[name].whole = function (header, value)
      header[member] = rshift(bswap(tonumber(value)), 16)
    end
  end
end

local function add_methods(type_, name, spec)
  local methods, layout, def = type_.methods, type_.layout, registry.find(name).def
  add_whole(type_, spec.whole)
  if special[name] then special[name](methods) end
  methods.calculateChecksum = calculate[name]
  add_texts(type_, spec)
  add_defaults(type_, name, add_next(type_, name, def))
  function methods.fill(header, args, prefix)
    fields.fill(layout, header, args or {}, prefix or name)
  end
  function methods.get(header, prefix)
    return fields.get(layout, header, prefix or name)
  end
  function methods.getSubType() return type_.subtype end
  local length = spec.lengths
  local get = length and layout.slow["get" .. length[1]]
  function methods.getVariableLength(header)
    if not length then return nil end
    return get(ffi.cast(layout.slow_pointer, header)) * length[2] - length[3]
  end
end

local function build(name, subtype)
  local spec = protocols[name]
  spec = subtype and spec.subtypes and spec.subtypes[subtype] or spec
  local layout = layouts.new(name, spec.fields, {}, spec.variable,
    spec.variable == "body" and "union payload_t %s" or nil)
  ctypes.build(layout, name, spec.methods)
  local type_ = {name = name, subtype = subtype, layout = layout, labels = spec.labels,
    ctype = layout.fast_type, size = layout.size, methods = layout.fast,
    variable = spec.variable}
  add_methods(type_, name, spec)
  return type_
end

-- A struct's members with the size of its variable one.
local function sized(format, variable, length)
  if not variable then return format end
  return (format:gsub(variable .. "%s*%[%s*%]", ("%s[%d]"):format(variable, length)))
end

-- The type of a module in libmoon's form; nil and a sentence if it isn't in that form.
local function of_module(name, module, subtype, length)
  local form = subtype and module[subtype] or module
  if type(form) ~= "table" or not form.headerFormat then
    return nil, ("protocol '%s' has no headerFormat"):format(name)
  end
  local ctype = ffi.typeof(("struct { %s } __attribute__((packed))")
    :format(sized(form.headerFormat, form.headerVariableMember, length)))
  local methods = form.metatype or module.metatype or {}
  ffi.metatype(ctype, rawget(methods, "__index") and methods or {__index = methods})
  return {name = name, subtype = subtype, ctype = ctype, size = ffi.sizeof(ctype),
    methods = methods, sized = true, open = true}
end

local made = {}

--- The header type of the protocol, or nil and a sentence. `module` is what libmoon's
--- `proto` table has under that name; `length` are the bytes of the variable member.
function headers.type_of(name, subtype, length, module)
  local ours = protocols[name]
  if ours and subtype == (ours.default or "default") then subtype = nil end
  if ours and subtype and not (ours.subtypes and ours.subtypes[subtype]) then
    return nil, ("%s has no subtype '%s'"):format(name, tostring(subtype))
  end
  local key = ("%s/%s/%s"):format(name, subtype or "", ours and "" or length)
  if not made[key] then
    local sentence
    if ours then
      made[key] = build(name, subtype)
    elseif module then
      made[key], sentence = of_module(name, module, subtype or module.defaultType,
        length)
    else
      sentence = ("there is no protocol '%s'"):format(name)
    end
    if sentence then return nil, sentence end
  end
  return made[key]
end


return headers
