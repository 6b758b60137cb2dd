-- SPDX-License-Identifier: Apache-2.0
-- IPv4 addresses as numbers from 0 to 2^32 - 1, the first byte highest (Snabb's
-- lib.lpm.ip4).

local addresses = require("net.address.address")
local bit = require("bit")
local ffi = require("ffi")
local prefixes = require("net.route.prefix")
local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

local ip4 = {ip4_t = ffi.typeof("uint32_t")}
ip4.IP4 = ip4

local function invalid(text)
  error(("Invalid IP %s: an address is four numbers from 0 to 255 with dots between")
    :format(tostring(text)), 3)
end

--- The address of a text such as "192.0.2.1"; raises an error if it is none.
function ip4.parse(text)
  local a, b, c, d = tostring(text):match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
  if not a then invalid(text) end
  a, b, c, d = tonumber(a), tonumber(b), tonumber(c), tonumber(d)
  if a > 255 or b > 255 or c > 255 or d > 255 then invalid(text) end
  return ((a * 256 + b) * 256 + c) * 256 + d
end

--- The address and the length of a text such as "192.0.2.0/24".
function ip4.parse_cidr(text)
  local address, length = prefixes.ip4(tostring(text))
  if not address then
    error(("%s is no prefix: one is an address, / and a length from 0 to 32"):format(
      tostring(text)), 2)
  end
  return address, length
end

--- The address as a text.
function ip4.tostring(ip)
  return addresses.ip4_text(ip)
end

function ip4.eq(a, b) return a == b end

--- Bit `offset` of the address, 0 or 1; 0 is the highest, 31 the lowest.
function ip4.get_bit(ip, offset)
  assert(type(offset) == "number" and offset >= 0 and offset < 32,
    "an address has bits 0 to 31")
  return tonumber(band(rshift(ip, 31 - offset), 1))
end

--- The address with all bits after the first `length` 0, as a number.
function ip4.masked(ip, length)
  ip = tonumber(ip) % 2^32
  return ip - ip % 2^(32 - length)
end

--- How many bits the two addresses have in common from the first on.
function ip4.commonlength(a, b)
  local different = bxor(a, b)
  for i = 0, 31 do
    if ip4.get_bit(different, i) == 1 then return i end
  end
  return 32
end

return require("core.lib.arguments").guard(ip4, "ip4", {
  tostring = "number", masked = "number number", commonlength = "number number"})
