-- SPDX-License-Identifier: Apache-2.0
-- Setting one field from whatever a program gives (slow code): a number, text, or an
-- address; with a sentence where it doesn't fit.

local ffi = require("ffi")
local address = require("lib.stack.address")

local EXAMPLES = {mac = "02:00:00:00:00:01", ip4 = "192.0.2.1", ip6 = "2001:db8::1"}
local NAMES = {mac = "an Ethernet", ip4 = "an IPv4", ip6 = "an IPv6"}
local TYPES = {mac = address.Mac, ip4 = address.Ip4, ip6 = address.Ip6}

local function fault(fmt, ...)
  error(fmt:format(...), 0)
end

local parse = {
  mac = function (text) return address.parseMacAddress(text, true) end,
  ip4 = address.parseIP4Address,
  ip6 = address.parseIP6Address,
}

-- Programs fill many packets from few texts: what they mean is kept.
local MAX_KNOWN = 1024
local known, n_known = {mac = {}, ip4 = {}, ip6 = {}}, 0

local function parsed(kind, text)
  local value = parse[kind](text)
  if not value then return nil end
  if n_known >= MAX_KNOWN then known, n_known = {mac = {}, ip4 = {}, ip6 = {}}, 0 end
  known[kind][text], n_known = value, n_known + 1
  return value
end

local function not_an_address(kind, value, label)
  fault("%s: '%s' isn't %s address, such as %s", label, tostring(value), NAMES[kind],
    EXAMPLES[kind])
end

local function address_value(kind, value, label)
  if type(value) == "string" then
    return known[kind][value] or parsed(kind, value)
      or not_an_address(kind, value, label)
  elseif ffi.istype(TYPES[kind], value) then
    return value
  elseif kind ~= "ip6" and (type(value) == "number" or type(value) == "cdata") then
    local number = tonumber(value)
    if not number then not_an_address(kind, value, label) end
    return number
  end
  return not_an_address(kind, value, label)
end

local function named(field, text)
  for value, name in pairs(field.values or {}) do
    if name == text then return value end
  end
end

local function out_of_range(field, value, label)
  local low, high = 0, ("%.0f"):format(2 ^ field.bits - 1)
  if field.signed then
    low = ("%.0f"):format(-2 ^ (field.bits - 1))
    high = ("%.0f"):format(2 ^ (field.bits - 1) - 1)
  end
  if field.bits == 64 and not field.signed then high = "2^64 - 1" end
  fault("%s: %s doesn't fit its %d bits (%s to %s)", label, tostring(value),
    field.bits, low, high)
end

local function number_value(field, value, label)
  if value == true then return 1 elseif value == false then return 0 end
  if type(value) == "string" then value = named(field, value) or value end
  local number = tonumber(value)
  if type(value) == "string" or not number or number % 1 ~= 0 then
    fault("%s: '%s' isn't a whole number", label, tostring(value))
  end
  local span = 2 ^ field.bits
  local low, high = 0, span
  if field.signed then low, high = -span / 2, span / 2 end
  -- A uint64_t may be rounded up to 2^64.
  if number < low or number > high or (number == high and field.bits < 54) then
    out_of_range(field, value, label)
  end
  return value
end

local function bytes_value(field, value, label)
  local n = field.bits / 8
  if type(value) ~= "string" or #value > n then
    fault("%s: it takes a string of up to %d bytes, not %s", label, n,
      type(value) == "string" and #value or "'" .. tostring(value) .. "'")
  end
  return value .. ("\0"):rep(n - #value)
end

--- Set the field of the header (a slow pointer) to `value`; `label` is for errors.
return function (layout, field, header, value, label)
  local kind = field.kind
  if kind == "uint" then
    value = number_value(field, value, label)
  elseif kind == "bytes" then
    value = bytes_value(field, value, label)
  else
    value = address_value(kind, value, label)
  end
  layout.slow["set" .. field.name](header, value)
end
