-- SPDX-License-Identifier: Apache-2.0
-- Filling a header from a table of labels, taking whatever libmoon's programs give:
-- devices and queues for Ethernet addresses, numbers as text, addresses of any type.
-- What can't be taken becomes 0, with one warning.

local ffi = require("ffi")
local address = require("lib.stack.address")
local warn = require("moongen.packets.warn")

local fields = {}

local Mac, Ip4, Ip6 = address.Mac, address.Ip4, address.Ip6

local function text_of(value)
  if type(value) == "table" or type(value) == "function" then
    return "a " .. type(value)
  end
  return "'" .. tostring(value) .. "'"
end

local function refuse(label, value, what)
  warn("%s: %s is not %s; it is set to 0", label, text_of(value), what)
end

-- The Ethernet address of a device, or of a queue's device; nil for other tables.
local function mac_of_device(value)
  local device = rawget(value, "dev") or value
  local ok, mac = pcall(function () return device:getMacString() end)
  return ok and address.parseMacAddress(mac, true) or nil
end

local take = {}

function take.mac(value, label)
  local taken
  if type(value) == "string" then taken = address.parseMacAddress(value, true)
  elseif type(value) == "number" or ffi.istype(Mac, value) then taken = value
  elseif type(value) == "cdata" then taken = tonumber(value)
  elseif type(value) == "table" then taken = mac_of_device(value) end
  if taken == nil then refuse(label, value, "an Ethernet address") end
  return taken or 0
end

function take.ip4(value, label)
  local taken
  if type(value) == "string" then
    taken = address.parseIP4Address(value) or tonumber(value)
  elseif type(value) == "number" or ffi.istype(Ip4, value) then taken = value
  elseif type(value) == "cdata" and not ffi.istype(Ip6, value) then
    taken = tonumber(value)
  end
  if taken == nil then refuse(label, value, "an IPv4 address") end
  return taken or 0
end

function take.ip6(value, label)
  local taken
  if type(value) == "string" then taken = address.parseIP6Address(value)
  elseif ffi.istype(Ip6, value) then taken = value end
  if taken == nil then refuse(label, value, "an IPv6 address") end
  return taken or Ip6()
end

-- 64 bits as libmoon takes them.
local function of_halves(value)
  local high, low = tonumber(value.high), tonumber(value.low)
  return high and low and high * 0x100000000ULL + low
end

function take.uint(value, label)
  local taken
  if type(value) == "number" then taken = value
  elseif type(value) == "boolean" then taken = value and 1 or 0
  elseif type(value) == "string" then taken = tonumber(value)
  elseif type(value) == "table" then taken = of_halves(value)
  elseif type(value) == "cdata" then taken = tonumber(value) and value end
  if taken == nil then refuse(label, value, "a number") end
  return taken or 0
end

function take.bytes(value, label, field)
  local n = field.bits / 8
  if type(value) == "string" then return (value .. ("\0"):rep(n)):sub(1, n) end
  if type(value) == "cdata" and tonumber(value) == nil then return value end
  refuse(label, value, "a string of bytes")
  return ("\0"):rep(n)
end

-- The value that one of the field's labels has.
local function given(field, args, prefix)
  for _, label in ipairs(field.labels) do
    local value = args[prefix .. label]
    if value ~= nil then return value, prefix .. label end
  end
end

local function put(layout, field, header, value, label)
  if value == true and field.kind ~= "uint" then return end -- libmoon's placeholder
  if field.whole then field.whole(header, take.uint(value, label)) return end
  layout.slow["set" .. field.name](header, take[field.kind](value, label, field))
end

-- The header's bytes with every default: made once.
local function template_of(layout)
  local bytes = ffi.new("uint8_t[?]", layout.size + 8)
  local header = ffi.cast(layout.slow_pointer, bytes)
  for _, field in ipairs(layout.fields) do
    if field.default and not field.at then
      put(layout, field, header, field.default, field.name)
    end
  end
  return ffi.string(bytes, layout.size)
end

--- Set the header at `pointer` of this layout: to `args`, whose labels begin with
--- `prefix`, and else to defaults. Bytes of a variable part stay as they are.
function fields.fill(layout, pointer, args, prefix)
  layout.template = layout.template or template_of(layout)
  ffi.copy(pointer, layout.template, layout.size)
  local header = ffi.cast(layout.slow_pointer, pointer)
  for _, views in ipairs{true, false} do -- flags have the last word
    for _, field in ipairs(layout.fields) do
      if (field.at ~= nil) == views then
        local value, label = given(field, args, prefix)
        if value ~= nil then put(layout, field, header, value, label) end
      end
    end
  end
end

--- The header's fields under their labels, with addresses as text.
function fields.get(layout, pointer, prefix)
  local header, values = ffi.cast(layout.slow_pointer, pointer), {}
  for _, field in ipairs(layout.fields) do
    local kind, getter = field.kind, "get" .. field.name
    if kind ~= "uint" and kind ~= "bytes" then getter = getter .. "String" end
    values[prefix .. field.label] = layout.slow[getter](header)
  end
  return values
end

return fields
