-- SPDX-License-Identifier: Apache-2.0
-- libmoon's ready casts by name (getUdpPacket, ...), as stacks. All are made here, when
-- this module is loaded. `six` has those that libmoon's functions give when they are
-- called with false: getUdpPacket(false) is getUdp6Packet().

local createStack = require("lib.stack.packet.create").stack

local casts, six = {}, {}

local function both(pattern, ...)
  for _, version in ipairs{"4", "6"} do
    local arguments = {"eth", "ip" .. version, ...}
    for i, item in ipairs(arguments) do
      if type(item) == "table" then
        local copy = {}
        for key, value in pairs(item) do
          copy[key] = type(value) == "string" and value:gsub("%%", version) or value
        end
        arguments[i] = copy
      end
    end
    casts[pattern:gsub("%%", version)] = createStack(unpack(arguments))
  end
  local plain = pattern:gsub("%%", "")
  casts[plain] = casts[pattern:gsub("%%", "4")]
  six[plain] = casts[pattern:gsub("%%", "6")]
end

local function one(name, ...)
  casts[name] = createStack(...)
end

local QINQ = {"eth", subType = "qinq", name = "etherQinQ"}
local NESTED = {"ip%", name = "nestedIp%"}

one("getRawPacket")
for _, name in ipairs{"Ethernet", "Eth"} do
  one("get" .. name .. "Packet", "eth")
  one("get" .. name .. "VlanPacket", {"eth", subType = "vlan"})
  one("get" .. name .. "QinQPacket", {"eth", subType = "qinq"})
end
one("getArpPacket", "eth", "arp")
one("getLacpPacket", "eth", "lacp")
one("getPtpPacket", "eth", "ptp")
one("getUdpPtpPacket", "eth", "ip4", "udp", "ptp")
one("getVxlanPacket", "eth", "ip4", "udp", "vxlan")
one("getVxlanEthernetPacket", "eth", "ip4", "udp", "vxlan",
  {"eth", name = "innerEth"})
one("getSFlowPacket", "eth", "ip4", "udp", {"sflow", subType = "ip4"}, "noPayload")
one("getIpfixPacket", "eth", "ip4", "udp", "ipfix")
one("getGreQinQArpPacket", "eth", "ip4", "gre", QINQ, "arp")

both("getIP%Packet")
both("getUdp%Packet", "udp")
both("getTcp%Packet", "tcp")
both("getEsp%Packet", "esp")
both("getAH%Packet", "ah")
both("getDns%Packet", "udp", "dns")
both("getGre%Packet", "gre")
both("getGre%QinQPacket", "gre", QINQ, NESTED)
both("getGre%QinQUdpPacket", "gre", QINQ, NESTED, "udp")

one("getIcmp4Packet", "eth", "ip4", "icmp")
one("getIcmp6Packet", "eth", "ip6", {"icmp6", name = "icmp"})
casts.getIcmpPacket, six.getIcmpPacket = casts.getIcmp4Packet, casts.getIcmp6Packet

return setmetatable(casts, {__index = {six = six}})
