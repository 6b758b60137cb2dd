-- SPDX-License-Identifier: Apache-2.0
-- Decap: takes the outer headers off VXLAN packets for this end point (RFC 7348), which
-- it checks first, in C: so many ways out would be as many traces. What may be for
-- the host itself (ARP, neighbour discovery, echo requests) goes to `host`.

local ffi = require("ffi")
local C = require("core.declare")("apps/vtep/vtep.h")
local deliver = require("apps.vtep.deliver")
local settings = require("apps.vtep.settings")

-- All but the last are those of pg_vxlan_check.
local Decap = {outputs = {"output", "host"}, drops = {
  "short", "other_mac", "other_address", "bad_length", "bad_checksum", "fragment",
  "other_port", "bad_udp_checksum", "no_vni", "unknown_vni", "bad_source", "inner_tag",
  "other_protocol", "congested", "bad_outer_source", "control", "unknown_remote"}}
Decap.__index = Decap
local UNKNOWN_REMOTE = 17
local HOST = 2

Decap.link_names = {
  input = {input = true}, output = {output = "output", host = "host"},
}

local word_t, NOW = ffi.typeof("int32_t *"), 2 -- the place of a digest's `now`
local VXLAN, LENGTH = 16, 12 -- bytes of UDP and VXLAN; of UDP's length on
local SOURCE = {[4] = 26, [6] = 22} -- offsets of the outer source address
local WORDS = {[4] = 1, [6] = 4} -- and its size
local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local learn, strip = deliver.learn, deliver.strip
local check, NEWS = C.pg_vxlan_check, tobit(C.VXLAN_NEWS)

function Decap:process(p)
  local data = p.data
  local found = check(self.own, data, p.length)
  if found <= 0 then
    if found == 0 then return p, HOST end
    return nil, tobit(-found)
  end
  local at, index = band(found, 0xff), band(rshift(found, 8), 0x7fff)
  if found >= NEWS and not learn(self, data, at, index) then
    return nil, UNKNOWN_REMOTE
  end
  local frame = data + at
  local length = tobit(bor(lshift(frame[-LENGTH], 8), frame[1 - LENGTH]) - VXLAN)
  return (strip(p, at, length, self.vnis[index]))
end

--- Make the app for a tunnel (apps.vtep.tunnel).
function Decap:new(tunnel)
  local s, own = tunnel.settings, ffi.new("struct vxlan_end")
  own.page, own.leaf, own.port = tunnel.page, tunnel.leaf, s.port
  own.slot, own.mask, own.seed = tunnel.fdb.slot, tunnel.fdb.mask, tunnel.fdb.seed
  own.remotes, own.now = tunnel.remotes.array, ffi.cast(word_t, tunnel.digest) + NOW
  own.family, own.keep_tags = s.family, s.keep_tags and 1 or 0
  own.flood_control = s.flood_control and 1 or 0
  ffi.copy(own.broadcast, settings.broadcast(s), 4)
  ffi.copy(own.mac, s.mac, 6)
  ffi.copy(own.ip, s.address, #s.address)
  return setmetatable({
    tunnel = tunnel, own = own, vnis = tunnel.vnis, known = tunnel.remotes.number,
    digest = tunnel.digest, room = tunnel.digest_room,
    source = SOURCE[s.family], words = WORDS[s.family],
    strict = s.strict, learn = s.learn,
  }, self)
end

return {Decap = Decap}
