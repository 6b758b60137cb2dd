-- SPDX-License-Identifier: Apache-2.0
-- Neighbor advertisements (RFC 4861, section 4.4), behind the ICMP header.

local ffi = require("ffi")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local nd_header = require("lib.protocol.icmp.nd.header")

local na = class.subClass(nd_header)
na._name = "neighbor advertisement"
na:init{ffi.typeof[[
  struct { uint32_t flags; uint8_t target[16]; } __attribute__((packed))
]]}

fields.bytes(na, "target", "target", 16)
fields.bits32(na, "router", "flags", 0, 1)
fields.bits32(na, "solicited", "flags", 1, 1)
fields.bits32(na, "override", "flags", 2, 1)

--- An advertisement of the IPv6 address; the flags are 0, 1 or booleans (default 0).
function na:new(target, router, solicited, override)
  local o = na:superClass().new(self)
  o:target(target)
  o:router(router)
  o:solicited(solicited)
  o:override(override)
  return o
end

return na
