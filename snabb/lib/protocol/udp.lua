-- SPDX-License-Identifier: Apache-2.0
-- UDP headers (RFC 768).

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")
local lib = require("core.lib")
local transport = require("lib.protocol.transport")

local PROTOCOL = 17

local udp = class.subClass(header)
udp._name = "udp"
udp:init{ffi.typeof[[
  struct { uint16_t src_port, dst_port, len, checksum; } __attribute__((packed))
]]}

fields.u16(udp, "src_port", "src_port")
fields.u16(udp, "dst_port", "dst_port")
fields.u16(udp, "length", "len")

--- A header of `src_port` and `dst_port`; its length is its own.
function udp:new(config)
  if type(config) ~= "table" then check.fields("udp", config) end
  local o = udp:superClass().new(self)
  o:src_port(config.src_port)
  o:dst_port(config.dst_port)
  o:length(o:sizeof())
  return o
end

--- Set the checksum for `length` bytes at `payload`, with the pseudo header of `ip` if
--- given. Without arguments nothing is set. Returns the checksum. It can be 0, which
--- receivers take for none.
function udp:checksum(payload, length, ip)
  if payload then transport.set(self, PROTOCOL, payload, length, ip) end
  return (lib.ntohs(self:header().checksum))
end

--- Are ports and length those of `other`?
function udp:eq(other)
  return self:src_port() == other:src_port() and self:dst_port() == other:dst_port()
    and self:length() == other:length()
end

return udp
