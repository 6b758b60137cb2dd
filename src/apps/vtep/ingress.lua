-- SPDX-License-Identifier: Apache-2.0
-- Ingress: takes frames of the inner port, finds their VNI by their VLAN tag, which it
-- takes off (RFC 7348, section 6.1), and the remote by their destination. The VNI goes
-- into hash[0] and the remote's number into hash[1], for Encap; for Flood, hash[1] is
-- the number of the VNI.

local ffi = require("ffi")
local packet = require("core.packet")
local fdb = require("apps.vtep.fdb")

local Ingress = {outputs = {"output", "flood"}, drops = {"short", "unknown_vlan"}}
Ingress.__index = Ingress
local SHORT, UNKNOWN_VLAN = 1, 2
local FLOOD = 2

Ingress.link_names = {
  input = {input = true}, output = {output = "output", flood = "flood"},
}

local ETHERNET, TAG = 14, 4 -- bytes
local word_t = ffi.typeof("int32_t *")
local band, bor, lshift, tobit = bit.band, bit.bor, bit.lshift, bit.tobit
local shiftleft = packet.shiftleft
local REMOTE = fdb.STATIC - 1

--- Make the app for a tunnel (apps.vtep.tunnel).
function Ingress:new(tunnel)
  return setmetatable({
    fdb = tunnel.fdb, vnis = tunnel.vnis, by_vlan = tunnel.by_vlan,
    tags = not tunnel.settings.keep_tags,
  }, self)
end

function Ingress:process(p)
  if p.length < ETHERNET then return nil, SHORT end
  local data, vlan = p.data, 0
  local w = ffi.cast(word_t, data)
  local w0, w1 = w[0], w[1]
  if data[12] == 0x81 and data[13] == 0 and self.tags then
    if p.length < ETHERNET + TAG then return nil, SHORT end
    vlan = bor(lshift(band(data[14], 15), 8), data[15])
    local w2 = w[2]
    w[1], w[2], w[3] = w0, w1, w2
    p = shiftleft(p, TAG)
  end
  local index = self.by_vlan[vlan]
  if index == 0 then return nil, UNKNOWN_VLAN end
  local to = self.vnis[index]
  p.hash[0] = to.vni
  local remote = to.only
  if band(w0, 1) == 0 then
    local t = self.fdb
    local slot = t:find(w0, bor(band(w1, 0xffff), lshift(index, 16)))
    if slot >= 0 then remote = band(t.slot[slot].remote, REMOTE) end
  end
  if remote ~= 0 then
    p.hash[1] = remote
    return p
  end
  p.hash[1] = tobit(index)
  return p, FLOOD
end

return {Ingress = Ingress}
