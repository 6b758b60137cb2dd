-- SPDX-License-Identifier: Apache-2.0
-- Addresses and networks as users write them, and as bytes in network order. For slow
-- code: LuaJIT needn't compile it.

local bit = require("bit")
local C = require("core.declare")("net/address/text.h")
local ffi = require("ffi")
local failure = require("core.failure")

-- Under a name of its own: programs of Snabb's declare it, too.
ffi.cdef[[
int perigee_inet_pton(int, const char *, void *) __asm__("inet_pton");
]]

local address = {}

local AF_INET6 = 10 -- Linux

--- How many bits an IP address has, by its family.
address.BITS = {[4] = 32, [6] = 128}

-- From text -----------------------------------------------------------------------

local OCTETS = "^(%d%d?%d?)%.(%d%d?%d?)%.(%d%d?%d?)%.(%d%d?%d?)$"

--- The IPv4 address in the text as a number (192.0.2.1 is 0xc0000201); nil if it isn't
--- just that. Octets with a leading 0 are refused: some read them as octal (RFC 6943,
--- section 3.1.1).
function address.ip4_number(text)
  if type(text) ~= "string" then return nil end
  local octets = {text:match(OCTETS)}
  if #octets ~= 4 then return nil end
  local number = 0
  for _, octet in ipairs(octets) do
    local value = tonumber(octet)
    if value > 255 or (#octet > 1 and octet:sub(1, 1) == "0") then return nil end
    number = number * 256 + value
  end
  return number
end

--- The 16 bytes of the IPv6 address in the text (RFC 4291, section 2.2); nil if it
--- isn't just that.
function address.ip6(text)
  if type(text) ~= "string" or text:find("%z") then return nil end
  local bytes = ffi.new("uint8_t[16]", {})
  return ffi.C.perigee_inet_pton(AF_INET6, text, bytes) == 1 and ffi.string(bytes, 16)
    or nil
end

local function ip4_bytes(n)
  return string.char(bit.rshift(n, 24), bit.band(bit.rshift(n, 16), 255),
    bit.band(bit.rshift(n, 8), 255), bit.band(n, 255))
end

--- The bytes of an IP address in text and its family (4 or 6), or nil.
function address.ip(text)
  local number = address.ip4_number(text)
  if number then return ip4_bytes(number), 4 end
  local bytes = address.ip6(text)
  if bytes then return bytes, 6 end
end

local PATTERNS = {}
for _, separator in ipairs{":", "%-"} do
  PATTERNS[#PATTERNS + 1] = "^" .. ("(%x%x?)"):rep(6, " "):gsub(" ", separator) .. "$"
end

--- The 6 bytes of an Ethernet address in text, with colons or dashes between (IEEE
--- 802-2014, section 8.1), or nil.
function address.mac(text)
  if type(text) ~= "string" then return nil end
  for _, pattern in ipairs(PATTERNS) do
    local bytes = {text:match(pattern)}
    for i, byte in ipairs(bytes) do bytes[i] = string.char(tonumber(byte, 16)) end
    if #bytes == 6 then return table.concat(bytes) end
  end
end

--- Of a network or an address such as "192.0.2.0/24" and "2001:db8::1": the bytes, how
--- many bits count, and the family; nil if it is neither.
function address.prefix(text)
  local bare, digits = text:match("^(.-)/(%d+)$")
  local bytes, family = address.ip(bare or text)
  local length = tonumber(digits) or address.BITS[family]
  if not bytes or length > address.BITS[family] then return nil end
  return bytes, length, family
end

-- To text -------------------------------------------------------------------------

--- The text of the IPv4 address that is the number `n` (modulo 2^32).
function address.ip4_text(n)
  return ("%d.%d.%d.%d"):format(bit.rshift(n, 24), bit.band(bit.rshift(n, 16), 255),
    bit.band(bit.rshift(n, 8), 255), bit.band(n, 255))
end

local MAC_TEXT = "%02x:%02x:%02x:%02x:%02x:%02x"

--- The text of an address of 4, 6 (MAC) or 16 bytes; of IPv6 as RFC 5952 has it:
--- "2001:db8::1", "::ffff:192.0.2.1".
function address.text(bytes)
  if #bytes == 6 then return MAC_TEXT:format(bytes:byte(1, 6)) end
  local text = ffi.new("char[?]", C.IP_TEXT)
  local write = #bytes == 16 and C.pg_ip6_text or C.pg_ip4_text
  return ffi.string(text, write(ffi.cast("const uint8_t *", bytes), text))
end

-- Whose they are ------------------------------------------------------------------

--- Is this, of 4 or 16 bytes, an address that one host can have (RFC 6890)?
function address.is_unicast(bytes)
  local first = bytes:byte(1)
  if #bytes == 4 then return first > 0 and first ~= 127 and first < 224 end
  return first ~= 255 and bytes:sub(1, 15) ~= ("\0"):rep(15)
end

--- The 6 bytes of a station's MAC address in text: neither a group's nor zero. `what`
--- is in front of the sentence that is raised otherwise.
function address.station(text, what)
  local bytes = address.mac(text)
  if not bytes or bytes:byte(1) % 2 == 1 or bytes == ("\0"):rep(6) then
    failure.usage("%s %s isn't the Ethernet address of one station, such as "
      .. "02:00:00:00:00:01", what, failure.shown(text))
  end
  return bytes
end

return address
