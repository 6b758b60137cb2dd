-- SPDX-License-Identifier: Apache-2.0
-- "Packet too big" (RFC 4443, section 3.2), behind the ICMP header. The packet that was
-- too big follows, as payload.

local ffi = require("ffi")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")

local ptb = class.subClass(header)
ptb._name = "packet too big"
ptb:init{ffi.typeof("struct { uint32_t mtu; } __attribute__((packed))")}

fields.u32(ptb, "mtu", "mtu")

return ptb
