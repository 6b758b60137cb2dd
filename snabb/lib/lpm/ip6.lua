-- SPDX-License-Identifier: Apache-2.0
-- IPv6 addresses as 16 bytes in network order (Snabb's lib.lpm.ip6). Equal addresses
-- are ==, and tostring() writes them.

local bit = require("bit")
local ffi = require("ffi")

local IP6 = {}
local ip6_t = ffi.typeof[[
  union { uint64_t u64[2]; uint16_t u16[8]; uint8_t u8[16]; }
]]

local function invalid(text) error("Invalid IPv6 Address: " .. text, 3) end

-- The groups of a text without "::", as numbers, or nil.
local function groups_of(text)
  local groups = {}
  if text == "" then return groups end
  for group in (text .. ":"):gmatch("([^:]*):") do
    if not group:match("^%x%x?%x?%x?$") then return nil end
    groups[#groups + 1] = tonumber(group, 16)
  end
  return groups
end

--- The address of a text (RFC 4291, section 2.2, forms 1 and 2); raises an error if it
--- is none.
function IP6.parse(text)
  if type(text) ~= "string" then invalid(tostring(text)) end
  local head, tail = text:match("^(.-)::(.*)$")
  local first, last = groups_of(head or text), groups_of(tail or "")
  if not (first and last) then invalid(text) end
  local missing = 8 - #first - #last
  if (head and missing < 1) or (not head and missing ~= 0) then invalid(text) end
  local ip = ip6_t()
  local function put(i, group)
    ip.u8[2 * i], ip.u8[2 * i + 1] = bit.rshift(group, 8), bit.band(group, 255)
  end
  for i, group in ipairs(first) do put(i - 1, group) end
  for i, group in ipairs(last) do put(#first + missing + i - 1, group) end
  return ip
end

-- Where the longest run of two or more groups that are 0 begins, and its size.
local function longest_zeros(groups)
  local at, size, run = nil, 1, 0
  for i = 1, 8 do
    run = groups[i] == 0 and run + 1 or 0
    if run > size then at, size = i - run + 1, run end
  end
  return at, size
end

--- The address as a text (RFC 5952, section 4; without section 5's dotted ends).
function IP6.tostring(ip)
  local groups, hex = {}, {}
  for i = 1, 8 do
    groups[i] = ip.u8[2 * i - 2] * 256 + ip.u8[2 * i - 1]
    hex[i] = ("%x"):format(groups[i])
  end
  local at, size = longest_zeros(groups)
  if not at then return table.concat(hex, ":") end
  return table.concat(hex, ":", 1, at - 1) .. "::"
    .. table.concat(hex, ":", at + size, 8)
end

function IP6.eq(a, b)
  return a.u64[0] == b.u64[0] and a.u64[1] == b.u64[1]
end

--- Bit `offset` of the address, 0 or 1; 1 is the first byte's highest, 128 the last.
function IP6.get_bit(ip, offset)
  assert(offset > 0 and offset < 129, "an address has bits 1 to 128")
  local byte = ip.u8[bit.rshift(offset - 1, 3)]
  return bit.band(bit.rshift(byte, 7 - bit.band(offset - 1, 7)), 1)
end

ffi.metatype(ip6_t, {__index = IP6, __tostring = IP6.tostring, __eq = IP6.eq})

return {IP6 = IP6, ip6_t = ip6_t}
