-- SPDX-License-Identifier: Apache-2.0
-- IPv6 headers (RFC 8200, section 3), and addresses: 16 bytes, as pton() gives them.

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local address = require("lib.protocol.address")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")

local AF_INET6 = 10
local NO_NEXT_HEADER = 59
local bytes_t = ffi.typeof("uint8_t *")

local ipv6 = class.subClass(header)
ipv6._name = "ipv6"
ipv6._ulp = {method = "next_header", class_map = {
  [6] = "lib.protocol.tcp", [17] = "lib.protocol.udp", [47] = "lib.protocol.gre",
  [58] = "lib.protocol.icmp.header", [115] = "lib.protocol.keyed_ipv6_tunnel",
}}
ipv6:init{ffi.typeof[[
  struct {
    uint32_t v_tc_fl; // version, traffic class, flow label
    uint16_t payload_length;
    uint8_t next_header, hop_limit, src_ip[16], dst_ip[16];
  } __attribute__((packed))
]]}

fields.bits32(ipv6, "version", "v_tc_fl", 0, 4)
fields.bits32(ipv6, "traffic_class", "v_tc_fl", 4, 8)
fields.bits32(ipv6, "dscp", "v_tc_fl", 4, 6)
fields.bits32(ipv6, "ecn", "v_tc_fl", 10, 2)
fields.bits32(ipv6, "flow_label", "v_tc_fl", 12, 20)
fields.u16(ipv6, "payload_length", "payload_length")
fields.u8(ipv6, "next_header", "next_header")
fields.u8(ipv6, "hop_limit", "hop_limit")
fields.bytes(ipv6, "src", "src_ip", 16)
fields.bytes(ipv6, "dst", "dst_ip", 16)
address.attach(ipv6, AF_INET6, "uint8_t[16]", "IPv6")
address.pseudo_header(ipv6, 32, [[ // RFC 8200, section 8.1
  struct {
    uint8_t src_ip[16], dst_ip[16];
    uint16_t ulp_zero, ulp_length;
    uint8_t zero[3], ulp_protocol;
  } __attribute__((packed))
]])

--- A header of `src`, `dst`, `next_header` (default 59, none), `hop_limit` (64),
--- `traffic_class` and `flow_label` (0).
function ipv6:new(config)
  if type(config) ~= "table" then check.fields("ipv6", config) end
  local o = ipv6:superClass().new(self)
  o:version(6)
  o:traffic_class(config.traffic_class)
  o:flow_label(config.flow_label)
  o:next_header(config.next_header or NO_NEXT_HEADER)
  o:hop_limit(config.hop_limit or 64)
  o:src(config.src)
  o:dst(config.dst)
  return o
end

--- The solicited-node multicast address of a unicast address (RFC 4291, section 2.7.1).
function ipv6:solicited_node_mcast(ip)
  if type(ip) ~= "cdata" or tonumber(ip) then
    check.bytes("solicited_node_mcast", ip, 16)
  end
  local result = self:pton("ff02::1:ff00:0")
  ffi.copy(result + 13, ffi.cast(bytes_t, ip) + 13, 3)
  return result
end

return ipv6
