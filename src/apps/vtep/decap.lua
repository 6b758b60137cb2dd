-- SPDX-License-Identifier: Apache-2.0
-- Decap: takes the outer headers off VXLAN packets for this end point (RFC 7348), which
-- it checks first, in C: so many exits would be as many traces. What may be for
-- the host itself (ARP, neighbour discovery, echo requests) goes to `host`.

local bit = require("bit")
local C = require("core.declare")("apps/vtep/vtep.h")
local deliver = require("apps.vtep.deliver")

-- In the order of pg_vxlan_check's.
local Decap = {outputs = {"output", "host"}, drops = {
  "short", "other_mac", "other_address", "bad_length", "bad_checksum", "fragment",
  "other_port", "bad_udp_checksum", "no_vni", "unknown_vni", "bad_source", "inner_tag",
  "other_protocol", "congested", "bad_outer_source", "control", "unknown_remote"}}
Decap.__index = Decap
local HOST = 2

Decap.link_names = {
  input = {input = true}, output = {output = "output", host = "host"},
}

local VXLAN, LENGTH = 16, 12 -- bytes of UDP and VXLAN; of UDP's length on
local SOURCE = {[4] = 26, [6] = 22} -- offsets of the outer source address
local WORDS = {[4] = 1, [6] = 4} -- and its size
local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local learn, strip = deliver.learn, deliver.strip
local check = C.pg_vxlan_check
local NEWS, STRANGER = tobit(C.VXLAN_NEWS), tobit(C.VXLAN_STRANGER)

function Decap:process(p)
  local data = p.data
  local found = check(self.own, data, p.length)
  if found <= 0 then
    if found == 0 then return p, HOST end
    return nil, tobit(-found)
  end
  local at, index = band(found, 0xff), band(rshift(found, 8), 0x7fff)
  local frame = data + at
  local length = tobit(bor(lshift(frame[-LENGTH], 8), frame[1 - LENGTH]) - VXLAN)
  if found >= NEWS then
    learn(self, data, at, index, band(found, STRANGER) ~= 0 and length or 0)
  end
  return (strip(p, at, length, self.vnis[index]))
end

--- Make the app for a tunnel (apps.vtep.tunnel).
function Decap:new(tunnel)
  local s = tunnel.settings
  return setmetatable({
    tunnel = tunnel, settings = s, own = tunnel.own,
    vnis = tunnel.vnis.array,
    digest = tunnel.digest, room = tunnel.digest_room,
    source = SOURCE[s.family], words = WORDS[s.family],
  }, self)
end

return {Decap = Decap}
