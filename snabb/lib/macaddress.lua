-- SPDX-License-Identifier: Apache-2.0
-- MAC addresses as objects: `bytes` (6) and `bits`, the same as a 64-bit number as this
-- CPU reads them. Equal addresses are ==.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")

local macaddress = {}
macaddress.__index = macaddress

local mac_t = ffi.typeof("union { int64_t bits; uint8_t bytes[6]; }")

local function parse(text)
  local pairs_of_digits = {}
  for pair in text:gmatch("%x%x") do
    pairs_of_digits[#pairs_of_digits + 1] = tonumber(pair, 16)
  end
  if #pairs_of_digits ~= 6 then return nil, "malformed MAC address: " .. text end
  return mac_t({bytes = pairs_of_digits})
end

--- An address from a text such as "02:00:00:00:00:01" (pairs of digits, whatever is
--- between them), a 64-bit number, or an address (which it is itself). Nil and
--- a reason if the text has less or more than 6 bytes.
function macaddress:new(m)
  if ffi.istype(mac_t, m) then return m end
  if type(m) == "string" then return parse(m) end
  local problem = arguments.problem("a MAC address", "number", m)
  if problem then error(problem .. ", or text", 2) end
  return mac_t({bits = m})
end

--- An address from the 6 bytes at `pointer`.
function macaddress:from_bytes(pointer)
  local problem = arguments.problem("from_bytes()'s argument", "mac", pointer)
  if problem then error(problem, 2) end
  local mac = mac_t()
  ffi.copy(mac.bytes, pointer, 6)
  return mac
end

function macaddress:__tostring()
  local b = self.bytes
  return ("%02X:%02X:%02X:%02X:%02X:%02X"):format(b[0], b[1], b[2], b[3], b[4], b[5])
end

function macaddress.__eq(a, b)
  return ffi.istype(mac_t, a) and ffi.istype(mac_t, b) and a.bits == b.bits
end

--- The bits from `first` up to but not including `last`, of `bits`, as a number.
function macaddress:subbits(first, last)
  local problem = arguments.problem("subbits()'s first bit", "count", first)
    or arguments.problem("subbits()'s last bit", "count", last)
  if problem then error(problem, 2) end
  local mask = bit.lshift(1LL, last - first) - 1
  return tonumber(bit.band(bit.rshift(self.bits, first), mask))
end

ffi.metatype(mac_t, macaddress)

return macaddress
