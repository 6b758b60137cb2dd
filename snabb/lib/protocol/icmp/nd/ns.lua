-- SPDX-License-Identifier: Apache-2.0
-- Neighbor solicitations (RFC 4861, section 4.3), behind the ICMP header.

local ffi = require("ffi")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local nd_header = require("lib.protocol.icmp.nd.header")

local ns = class.subClass(nd_header)
ns._name = "neighbor solicitation"
ns:init{ffi.typeof[[
  struct { uint32_t reserved; uint8_t target[16]; } __attribute__((packed))
]]}

fields.bytes(ns, "target", "target", 16)

--- A solicitation of the IPv6 address.
function ns:new(target)
  local o = ns:superClass().new(self)
  o:target(target)
  return o
end

return ns
