-- SPDX-License-Identifier: Apache-2.0
-- The header that ICMP (RFC 792) and ICMPv6 (RFC 4443) share. What follows is known for
-- ICMPv6: neighbour discovery and "packet too big".

local ffi = require("ffi")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")
local ntohs = require("core.lib").ntohs
local transport = require("lib.protocol.transport")

local ICMPV6 = 58

local icmp = class.subClass(header)
icmp._name = "icmp"
icmp._ulp = {method = "type", class_map = {
  [2] = "lib.protocol.icmp.ptb", [135] = "lib.protocol.icmp.nd.ns",
  [136] = "lib.protocol.icmp.nd.na",
}}
icmp:init{ffi.typeof[[
  struct { uint8_t type, code; uint16_t checksum; } __attribute__((packed))
]]}

fields.u8(icmp, "type", "type")
fields.u8(icmp, "code", "code")

--- A header of the type and code.
function icmp:new(type, code)
  local o = icmp:superClass().new(self)
  o:type(type)
  o:code(code)
  return o
end

--- Set the checksum for `length` bytes at `payload`, with the pseudo header of the IPv6
--- header `ipv6` if given.
function icmp:checksum(payload, length, ipv6)
  transport.set(self, ICMPV6, payload, length, ipv6)
end

--- Is the checksum right?
function icmp:checksum_check(payload, length, ipv6)
  return transport.sum(self, ICMPV6, payload, length, ipv6)
    == ntohs(self:header().checksum)
end

return icmp
