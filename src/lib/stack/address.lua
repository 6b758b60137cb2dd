-- SPDX-License-Identifier: Apache-2.0
-- Addresses as they are in packets: the C types struct perigee_mac, perigee_ip4
-- and perigee_ip6, of 6, 4 and 16 bytes in network order at any alignment, for
-- headers to embed; and the parsers of their text. What packet loops call makes no
-- tail calls: LuaJIT gives up a trace with more than 15 of them.

local ip4 = require("lib.stack.address.ip4")
local ip6 = require("lib.stack.address.ip6")
local mac = require("lib.stack.address.mac")

local band, arshift = bit.band, bit.arshift

local address = {
  Mac = mac.type, Ip4 = ip4.type, Ip6 = ip6.type,
  parseMacAddress = mac.parse,
  parseIP4Address = ip4.parse,
  parseIP6Address = ip6.parse,
  ip4ToString = ip4.text,
}

--- The address in the string `s` and whether it is an IPv4 one: a number and
--- true, or a struct perigee_ip6 and false; nil and false if it is neither.
function address.parseIPAddress(s)
  local number = ip4.parse(s)
  if number then return number, true end
  return ip6.parse(s), false
end

--- value + 1, or 0 in place of `max`: a counter of 0 .. max-1 without a branch,
--- for `max` up to 2^31.
function address.incAndWrap(value, max)
  if type(value) ~= "number" or type(max) ~= "number" then
    error(("incAndWrap takes two numbers, not %s and %s"):format(tostring(value),
      tostring(max)), 2)
  end
  local next_value = value + 1
  return (band(next_value, arshift(next_value - max, 31)))
end

return address
