-- SPDX-License-Identifier: Apache-2.0
-- Encap: puts the outer headers in front of frames (RFC 7348, section 5). The VNI is in
-- hash[0], its number and that of the remote are in the halves of hash[1]; Ingress and
-- Flood write them there.

local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local packet = require("core.packet")
local flow = require("apps.vtep.flow")
local header = require("apps.vtep.header")

local Encap = {drops = {"short", "too_big", "no_remote", "unresolved"}}
Encap.__index = Encap
local SHORT, TOO_BIG, NO_REMOTE, UNRESOLVED = 1, 2, 3, 4

Encap.link_names = {input = {input = "input", flood = "flood"},
                    output = {output = true}}

local ETHERNET, IP4, UDP_VXLAN = 14, 20, 16 -- bytes of headers
local ECN = 3
local band, bor, rshift, tobit = bit.band, bit.bor, bit.rshift, bit.tobit
local shiftright, copy = packet.shiftright, ffi.copy
local flow_of, port_of = flow.of, flow.port

-- UDP's checksum over `length` bytes, with the other words of the pseudo header in
-- `sum`.
local function udp_checksum(udp, length, sum)
  return (checksum.udp(C.pg_checksum(udp, length, tobit(sum + length))))
end

-- The remote, or nil and the number of a drop.
local function remote_for(self, p)
  local n = band(p.hash[1], 0xffff)
  if n < 1 or n > self.last or rshift(p.hash[1], 16) > self.last_vni then
    return nil, NO_REMOTE
  end
  local length = p.length
  if length < ETHERNET then return nil, SHORT end
  if length > self.longest then return nil, TOO_BIG end
  local remote = self.remotes[n]
  if remote.ready == 0 and not self.all_remotes:find_out(n) then
    return nil, UNRESOLVED
  end
  return remote
end

-- A frame of `length` bytes, of the VNI of this number, goes to `remote`.
local function count(self, remote, number, length)
  local counts = remote.counts
  counts.sent = counts.sent + 1
  counts.sent_bytes = counts.sent_bytes + length
  counts = self.vnis[number].counts
  counts.sent = counts.sent + 1
  counts.sent_bytes = counts.sent_bytes + length
end

-- process() of a family: its outer headers have `size` bytes, and as_outer() is their
-- stack; set_ip() sets what of IP's differs by packet.
local function processor(size, as_outer, set_ip)
  local udp_at = size - UDP_VXLAN
  return function (self, p)
    local remote, reason = remote_for(self, p)
    if remote == nil then return nil, reason end
    local length, vni = p.length, tobit(p.hash[0])
    count(self, remote, rshift(p.hash[1], 16), length)
    local hash, tos = flow_of(p.data, length)
    p = shiftright(p, size)
    copy(p.data, remote.header, size)
    local pkt, udp = as_outer(p), tobit(length + UDP_VXLAN)
    set_ip(pkt.outer, bor(band(tos, self.tos_mask), self.tos), udp, hash, remote)
    pkt.udp:setSrcPort(port_of(hash))
    pkt.udp:setLength(udp)
    pkt.vxlan:setVNI(vni)
    if self.udp_checksum then
      pkt.udp:setChecksum(udp_checksum(p.data + udp_at, udp, remote.pseudo))
    end
    return p
  end
end

local process4 = processor(header.SIZE[4], header.stack[4],
  function (ip, tos, payload, _, remote)
    local total = tobit(payload + IP4)
    ip:setTOS(tos)
    ip:setLength(total)
    ip:setChecksum(checksum.fold(tobit(remote.sum + tos + total)))
  end)

local process6 = processor(header.SIZE[6], header.stack[6],
  function (ip, tos, payload, hash)
    ip:setTrafficClass(tos)
    -- The flow label tells flows apart where ports aren't looked at (RFC 6438).
    ip:setFlowLabel(band(hash, 0xfffff))
    ip:setLength(payload)
  end)

--- Make the app for a tunnel (apps.vtep.tunnel).
function Encap:new(tunnel)
  local s = tunnel.settings
  return setmetatable({
    process = tunnel.family == 4 and process4 or process6,
    remotes = tunnel.remotes.array, last = tunnel.remotes.last,
    all_remotes = tunnel.remotes,
    vnis = tunnel.vnis.array, last_vni = tunnel.vnis.most,
    longest = s.max_inner, udp_checksum = s.udp_checksum,
    -- The inner ECN field is always copied (RFC 6040, normal mode).
    tos_mask = s.dscp == "copy" and 255 or ECN,
    tos = s.dscp == "copy" and 0 or s.dscp * 4,
  }, self)
end

return {Encap = Encap}
