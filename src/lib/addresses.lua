-- SPDX-License-Identifier: Apache-2.0
-- Addresses and networks as users write them, and as bytes in network order.

local bit = require("bit")
local ffi = require("ffi")
local address = require("lib.stack.address")
local failure = require("core.failure")

local addresses = {}

--- How many bits an IP address has, by its family.
addresses.BITS = {[4] = 32, [6] = 128}

--- The bytes of an IP address in text and its family (4 or 6), or nil.
function addresses.ip(text)
  local value, is_ip4 = address.parseIPAddress(tostring(text))
  if not value then return nil end
  if is_ip4 then
    return string.char(bit.rshift(value, 24), bit.band(bit.rshift(value, 16), 255),
      bit.band(bit.rshift(value, 8), 255), bit.band(value, 255)), 4
  end
  return ffi.string(value, 16), 6
end

--- The 6 bytes of an Ethernet address in text, or nil.
function addresses.mac(text)
  local bytes = {tostring(text):match("^(%x%x):(%x%x):(%x%x):(%x%x):(%x%x):(%x%x)$")}
  for i, byte in ipairs(bytes) do bytes[i] = string.char(tonumber(byte, 16)) end
  return #bytes == 6 and table.concat(bytes) or nil
end

--- The text of an address of 4, 6 (MAC) or 16 bytes.
function addresses.text(bytes)
  if #bytes == 4 then return ("%d.%d.%d.%d"):format(bytes:byte(1, 4)) end
  if #bytes == 6 then
    return ("%02x:%02x:%02x:%02x:%02x:%02x"):format(bytes:byte(1, 6))
  end
  local struct = address.Ip6()
  ffi.copy(struct, bytes, 16)
  return struct:getString()
end

--- Of a network or an address such as "192.0.2.0/24" and "2001:db8::1": the bytes, how
--- many bits count, and the family; nil if it is neither.
function addresses.prefix(text)
  local bare, digits = text:match("^(.-)/(%d+)$")
  local bytes, family = addresses.ip(bare or text)
  local length = tonumber(digits) or addresses.BITS[family]
  if not bytes or length > addresses.BITS[family] then return nil end
  return bytes, length, family
end

--- Is this, of 4 or 16 bytes, an address that one host can have (RFC 6890)?
function addresses.is_unicast(bytes)
  local first = bytes:byte(1)
  if #bytes == 4 then return first > 0 and first ~= 127 and first < 224 end
  return first ~= 255 and bytes:sub(1, 15) ~= ("\0"):rep(15)
end

--- The 6 bytes of a station's MAC address in text: neither a group's nor zero. `what`
--- is in front of the sentence that is raised otherwise.
function addresses.station(text, what)
  local bytes = addresses.mac(text)
  if not bytes or bytes:byte(1) % 2 == 1 or bytes == ("\0"):rep(6) then
    failure.usage("%s %s isn't the Ethernet address of one station, such as "
      .. "02:00:00:00:00:01", what, failure.shown(text))
  end
  return bytes
end

return addresses
