-- SPDX-License-Identifier: Apache-2.0
-- VLAN tags (IEEE 802.1Q) behind an Ethernet header: the tag's 16 bits and the type of
-- what follows.

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")

local dot1q = class.subClass(header)
dot1q._name = "dot1q"
dot1q._ulp = {method = "type", class_map = {
  [0x0800] = "lib.protocol.ipv4", [0x86dd] = "lib.protocol.ipv6",
}}
dot1q:init{ffi.typeof[[
  struct { uint16_t pcp_dei_vid, ether_type; } __attribute__((packed))
]]}

--- The EtherType that says that a tag follows.
dot1q.TPID = 0x8100

--- A header of `id` (all 16 bits: PCP, DEI, VLAN) and `type`.
function dot1q:new(config)
  if type(config) ~= "table" then check.fields("dot1q", config) end
  local o = dot1q:superClass().new(self)
  o:id(config.id)
  o:type(config.type)
  return o
end

fields.u16(dot1q, "id", "pcp_dei_vid")
fields.u16(dot1q, "type", "ether_type")

return dot1q
