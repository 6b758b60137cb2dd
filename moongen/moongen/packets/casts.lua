-- SPDX-License-Identifier: Apache-2.0
-- libmoon's ready casts by name (getUdpPacket, ...), made when they are first asked
-- for: most programs use two.

local stack = require("moongen.packets.stack")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local casts = {}

local VLAN, QINQ = {"eth", subType = "vlan"}, {"eth", subType = "qinq"}
local INNER_QINQ = {"eth", subType = "qinq", name = "etherQinQ"}

local STACKS = {
  getRawPacket = {}, getEthernetPacket = {"eth"}, getEthPacket = {"eth"},
  getEthernetVlanPacket = {VLAN}, getEthVlanPacket = {VLAN},
  getEthernetQinQPacket = {QINQ}, getEthQinQPacket = {QINQ},
  getArpPacket = {"eth", "arp"}, getLacpPacket = {"eth", "lacp"},
  getPtpPacket = {"eth", "ptp"}, getUdpPtpPacket = {"eth", "ip4", "udp", "ptp"},
  getUDPPacket = {"eth", "ip4", "udp"}, -- a name of 2014 and 2015
  getVxlanPacket = {"eth", "ip4", "udp", "vxlan"},
  getVxlanEthernetPacket = {"eth", "ip4", "udp", "vxlan", {"eth", name = "innerEth"}},
  getSFlowPacket = {"eth", "ip4", "udp", {"sflow", subType = "ip4"}, "noPayload"},
  getIpfixPacket = {"eth", "ip4", "udp", "ipfix"},
  getGreQinQArpPacket = {"eth", "ip4", "gre", INNER_QINQ, "arp"},
}

-- Those that are there for both IP versions: with 4 or 6 for %, and without, where an
-- argument of false means 6.
local function nested(version)
  return {"ip" .. version, name = "nestedIp" .. version}
end

local BOTH = {
  ["getIP%Packet"] = {}, ["getIcmp%Packet"] = {"icmp"}, ["getUdp%Packet"] = {"udp"},
  ["getTcp%Packet"] = {"tcp"}, ["getEsp%Packet"] = {"esp"}, ["getAH%Packet"] = {"ah"},
  ["getDns%Packet"] = {"udp", "dns"}, ["getGre%Packet"] = {"gre"},
  ["getGre%QinQPacket"] = {"gre", INNER_QINQ, nested},
  ["getGre%QinQUdpPacket"] = {"gre", INNER_QINQ, nested, "udp"},
}

local EITHER = {} -- getUdpPacket -> getUdp%Packet

for pattern, above in pairs(BOTH) do
  for _, version in ipairs{"4", "6"} do
    local arguments = {"eth", "ip" .. version}
    for _, item in ipairs(above) do
      arguments[#arguments + 1] = item == nested and nested(version) or item
    end
    STACKS[(pattern:gsub("%%", version))] = arguments
  end
  EITHER[(pattern:gsub("%%", ""))] = pattern
end

local CAST = [[
local cast, istype, Packet, T4, T6, data_of = ...
return function (p, ip4)
  local T = T4
  if ip4 ~= nil and not ip4 then T = T6 end
  if istype(Packet, p) then return (cast(T, p.buf_addr + p.data_off)) end
  return (cast(T, data_of(p)))
end]]

local function either(pattern)
  local ffi = require("ffi")
  local four = stack.shape(casts[pattern:gsub("%%", "4")]).pointer
  local six = stack.shape(casts[pattern:gsub("%%", "6")]).pointer
  return loadstring(CAST, "=cast")(ffi.cast, ffi.istype, ffi.typeof("struct packet"),
    four, six, stack.data_of)
end

--- Their names, as keys.
casts.names = {}

--- One more, of these arguments of createStack; nothing if there is one of that name.
function casts.add(name, arguments)
  if casts.names[name] then return end
  STACKS[name], casts.names[name] = arguments, true
end

for name in pairs(STACKS) do casts.names[name] = true end
for name in pairs(EITHER) do casts.names[name] = true end

return setmetatable(casts, {__index = function (made, name)
  local ok, cast
  if STACKS[name] then
    ok, cast = pcall(stack.create, unpack(STACKS[name]))
    if not ok then error(cast, 0) end -- of a fork's own protocol
  elseif EITHER[name] then cast = either(EITHER[name]) end
  rawset(made, name, cast)
  return cast
end})
