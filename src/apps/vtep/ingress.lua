-- SPDX-License-Identifier: Apache-2.0
-- Ingress: takes frames of the inner port, finds their VNI by their VLAN tag, which it
-- takes off (RFC 7348, section 6.1), and the remote by their destination: in C, for
-- LuaJIT would compile each path separately. The VNI goes into hash[0], for Encap, and
-- its number and the remote's into hash[1]; for Flood the remote's is 0.

local ffi = require("ffi")
local C = require("core.declare")("apps/vtep/vtep.h")
local packet = require("core.packet")

local Ingress = {outputs = {"output", "flood"}, drops = {
  "short", "unknown_vlan", "control"}}
Ingress.__index = Ingress
local FLOOD = 2

Ingress.link_names = {
  input = {input = true}, output = {output = "output", flood = "flood"},
}

local band, tobit = bit.band, bit.tobit
local TAG, TO_FLOOD = tobit(C.VXLAN_TAG), tobit(C.VXLAN_FLOOD)
local shiftleft, route = packet.shiftleft, C.pg_vxlan_route

--- Make the app for a tunnel (apps.vtep.tunnel).
function Ingress:new(tunnel)
  return setmetatable({
    tunnel = tunnel, -- keeps what the segment points to
    segment = ffi.new("struct vxlan_segment", {
      fdb = tunnel.fdb.fdb,
      vnis = tunnel.vnis.array, remotes = tunnel.remotes.array,
      by_vlan = tunnel.vnis.by_vlan,
      tags = not tunnel.settings.keep_tags,
      flood_control = tunnel.settings.flood_control,
    }),
  }, self)
end

function Ingress:process(p)
  local way = route(self.segment, p)
  if way < 0 then return nil, tobit(-way) end
  p = shiftleft(p, band(way, TAG))
  if band(way, TO_FLOOD) ~= 0 then return p, FLOOD end
  return p
end

return {Ingress = Ingress}
