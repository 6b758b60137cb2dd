-- SPDX-License-Identifier: Apache-2.0
-- GRE headers (RFC 2784) with or without checksum and key (RFC 2890): four sizes.

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local header = require("lib.protocol.header")
local lib = require("core.lib")
local ipsum = require("lib.checksum").ipsum

local htons, ntohs, htonl, ntohl = lib.htons, lib.ntohs, lib.htonl, lib.ntohl
local band, bnot = bit.band, bit.bnot
local bytes_t = ffi.typeof("uint8_t *")

local CHECKSUM, KEY = 0x8000, 0x2000 -- bits of the header's first word
local OTHERS = 0x5fff -- reserved, sequence number, version: not known here

local gre = class.subClass(header)
gre._name = "gre"
gre._ulp = {method = "protocol", class_map = {
  [0x6558] = "lib.protocol.ethernet", [0x0800] = "lib.protocol.ipv4",
  [0x86dd] = "lib.protocol.ipv6",
}}

local function layout(more)
  return ffi.typeof("struct { struct { uint16_t bits, protocol; } h; " .. more .. "}")
end

gre:init{
  layout(""),
  layout("uint32_t key;"),
  layout("uint16_t csum, reserved1;"),
  layout("uint16_t csum, reserved1; uint32_t key;"),
}

local function variant(checksum, key)
  return 1 + (key and 1 or 0) + (checksum and 2 or 0)
end

--- A header of `protocol`; with a checksum if `checksum` is true, with a key if `key`
--- is given.
function gre:new(config)
  config = config or {}
  if type(config) ~= "table" then check.fields("gre", config) end
  local o = gre:superClass().new(self)
  o._checksum, o._key = config.checksum and true or false, config.key ~= nil
  o:use_own(variant(o._checksum, o._key))
  o:header().h.bits = htons((o._checksum and CHECKSUM or 0) + (o._key and KEY or 0))
  o:key(config.key)
  o:protocol(config.protocol)
  return o
end

--- The header at `memory`; nil if `size` bytes are too few for it, or it has what isn't
--- known here: a sequence number, reserved bits, another version.
function gre:new_from_mem(memory, size)
  local o = gre:superClass().new_from_mem(self, memory, size)
  if not o then return nil end
  local bits = ntohs(o:header().h.bits)
  o._checksum, o._key = band(bits, CHECKSUM) ~= 0, band(bits, KEY) ~= 0
  if band(bits, OTHERS) == 0
    and o:use_memory(variant(o._checksum, o._key), memory, size) then return o end
  o:free()
  return nil
end

local function sum(self, payload, length)
  local h = self:header()
  local old = h.csum
  h.csum, h.reserved1 = 0, 0
  local csum = ipsum(ffi.cast(bytes_t, self:header_ptr()), self:sizeof(), 0)
  h.csum = old
  return (ipsum(payload, length, bnot(csum)))
end

--- Set the checksum for `length` bytes at `payload`, if given. Returns the checksum;
--- nil if the header has none.
function gre:checksum(payload, length)
  if not self._checksum then return nil end
  local h = self:header()
  if payload ~= nil then h.csum = htons(sum(self, payload, length)) end
  return (ntohs(h.csum))
end

--- Is the checksum right for `length` bytes at `payload`? True if there is none.
function gre:checksum_check(payload, length)
  if not self._checksum then return true end
  return sum(self, payload, length) == ntohs(self:header().csum)
end

--- Set the key, if given. Returns it; nil if the header has none.
function gre:key(key)
  if not self._key then return nil end
  local h = self:header()
  if key ~= nil and type(key) ~= "number" then key = check.number("key", key) end
  if key ~= nil then h.key = htonl(key) end
  return (ntohl(h.key))
end

--- The EtherType of what follows.
function gre:protocol(protocol)
  local h = self:header().h
  if protocol ~= nil and type(protocol) ~= "number" then
    protocol = check.number("protocol", protocol)
  end
  if protocol ~= nil then h.protocol = htons(protocol) end
  return (ntohs(h.protocol))
end

return gre
