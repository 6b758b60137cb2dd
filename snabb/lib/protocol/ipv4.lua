-- SPDX-License-Identifier: Apache-2.0
-- IPv4 headers without options (RFC 791), and addresses: 4 bytes, as pton() gives them.

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local address = require("lib.protocol.address")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")
local lib = require("core.lib")
local ipsum = require("lib.checksum").ipsum

local htons, ntohs = lib.htons, lib.ntohs
local AF_INET = 2
local bytes_t = ffi.typeof("uint8_t *")

local ipv4 = class.subClass(header)
ipv4._name = "ipv4"
ipv4._ulp = {method = "protocol", class_map = {
  [1] = "lib.protocol.icmp.header", [6] = "lib.protocol.tcp",
  [17] = "lib.protocol.udp", [47] = "lib.protocol.gre",
  [58] = "lib.protocol.icmp.header",
}}
ipv4:init{ffi.typeof[[
  struct {
    uint16_t ihl_v_tos; // version, header length, DSCP, ECN
    uint16_t total_length, id;
    uint16_t frag_off;  // flags, offset
    uint8_t ttl, protocol;
    uint16_t checksum;
    uint8_t src_ip[4], dst_ip[4];
  } __attribute__((packed))
]]}

fields.bits16(ipv4, "version", "ihl_v_tos", 0, 4)
fields.bits16(ipv4, "ihl", "ihl_v_tos", 4, 4)
fields.bits16(ipv4, "dscp", "ihl_v_tos", 8, 6)
fields.bits16(ipv4, "ecn", "ihl_v_tos", 14, 2)
fields.u16(ipv4, "total_length", "total_length")
fields.u16(ipv4, "id", "id")
fields.bits16(ipv4, "flags", "frag_off", 0, 3)
fields.bits16(ipv4, "frag_off", "frag_off", 3, 13)
fields.u8(ipv4, "ttl", "ttl")
fields.u8(ipv4, "protocol", "protocol")
fields.bytes(ipv4, "src", "src_ip", 4)
fields.bytes(ipv4, "dst", "dst_ip", 4)
address.attach(ipv4, AF_INET, "uint8_t[4]", "IPv4")
address.pseudo_header(ipv4, 8, [[ // RFC 793, section 3.1
  struct {
    uint8_t src_ip[4], dst_ip[4], ulp_zero, ulp_protocol;
    uint16_t ulp_length;
  } __attribute__((packed))
]])

--- A header of `src`, `dst`, `protocol` (default 255), `ttl`, `id`, `flags`,
--- `frag_off`, `dscp` and `ecn` (default 0), its total length its own, with checksum.
function ipv4:new(config)
  if type(config) ~= "table" then check.fields("ipv4", config) end
  local o = ipv4:superClass().new(self)
  o:version(4)
  o:ihl(o:sizeof() / 4)
  o:dscp(config.dscp)
  o:ecn(config.ecn)
  o:total_length(o:sizeof())
  o:id(config.id)
  o:flags(config.flags)
  o:frag_off(config.frag_off)
  o:ttl(config.ttl)
  o:protocol(config.protocol or 0xff)
  o:src(config.src)
  o:dst(config.dst)
  o:checksum()
  return o
end

--- Make and set the header's checksum; returns it.
function ipv4:checksum()
  local h = self:header()
  h.checksum = 0
  h.checksum = htons(ipsum(ffi.cast(bytes_t, self:header_ptr()), self:sizeof(), 0))
  return (ntohs(h.checksum))
end

--- Are header length, id, protocol and addresses those of `other`?
function ipv4:eq(other)
  return self:ihl() == other:ihl() and self:id() == other:id()
    and self:protocol() == other:protocol()
    and self:src_eq(other:src()) and self:dst_eq(other:dst())
end

return ipv4
