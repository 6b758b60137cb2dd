-- SPDX-License-Identifier: Apache-2.0
-- Neighbour discovery (RFC 4861) for a tunnel's own IPv6 address: solicitations and
-- advertisements. Host code: a few packets a second.

local ffi = require("ffi")
local checksum = require("lib.stack.checksum")
local packet = require("core.packet")
local settings = require("apps.vtep.settings")
local createStack = require("lib.stack").createStack

local nd = {}

local as_solicitation = createStack("eth", "ip6", "icmp6", "ns", "ndopt")
local as_advertisement = createStack("eth", "ip6", "icmp6", "na", "ndopt")
local IP, ICMP, OPTIONS = 14, 54, 78 -- offsets in the frame
local MESSAGE = 24 -- bytes of either, without options
local ICMP6, HOP_LIMIT = 58, 255 -- RFC 4861: those of 255 come from this network
local SOLICITATION, ADVERTISEMENT = 135, 136
local SOURCE_MAC, TARGET_MAC = 1, 2 -- options
local UNSPECIFIED = ("\0"):rep(16)
local ALL_NODES, ALL_NODES_MAC = "ff02::1", "33:33:00:00:00:01"

local function finish(pkt)
  local data, length = pkt.data, pkt.packet.length - ICMP
  pkt.icmp6:setChecksum(0)
  local sum = checksum.pseudo6(data + IP, ICMP6, length)
  pkt.icmp6:setChecksum(checksum.of(data + ICMP, length, sum))
  return pkt.packet
end

--- A solicitation of the address (16 bytes), to its solicited-node group (RFC 4291,
--- section 2.7.1), in the name of the tunnel with settings `s`.
function nd.request(s, address)
  local tail = address:sub(14)
  local group = settings.ip("ff02::1:ff00:0"):sub(1, 13) .. tail
  local pkt = as_solicitation(packet.allocate())
  pkt:fill{
    ethSrc = s.mac_text, ethDst = settings.text("\51\51\255" .. tail),
    ip6Src = s.address_text, ip6Dst = settings.text(group), ip6TTL = HOP_LIMIT,
    nsTarget = settings.text(address), ndoptType = SOURCE_MAC,
    ndoptAddress = s.mac_text,
  }
  return finish(pkt)
end

local function advertisement(s, to, mac)
  local everyone = to == UNSPECIFIED
  local pkt = as_advertisement(packet.allocate())
  pkt:fill{
    ethSrc = s.mac_text, ethDst = everyone and ALL_NODES_MAC or settings.text(mac),
    ip6Src = s.address_text, ip6Dst = everyone and ALL_NODES or settings.text(to),
    ip6TTL = HOP_LIMIT, naSolicited = everyone and 0 or 1, naOverride = 1,
    naTarget = s.address_text, ndoptType = TARGET_MAC, ndoptAddress = s.mac_text,
  }
  return finish(pkt)
end

-- The MAC address that an option of this kind holds, or nil; false for options that
-- no message may have (RFC 4861, section 4.6).
local function option(bytes, kind)
  local at, mac = OPTIONS + 1, nil
  while at <= #bytes do
    local type_, units = bytes:byte(at, at + 1)
    if not units or units == 0 or at + units * 8 - 1 > #bytes then return false end
    if type_ == kind then mac = bytes:sub(at + 2, at + 7) end
    at = at + units * 8
  end
  return mac
end

-- The frame's bytes to the end of its IPv6 payload, if it holds a sound message.
local function message(p)
  if p.length < OPTIONS then return nil end
  local data = p.data
  local payload = data[IP + 4] * 256 + data[IP + 5]
  if data[12] ~= 0x86 or data[13] ~= 0xdd or data[IP + 6] ~= ICMP6
      or data[IP + 7] ~= HOP_LIMIT or payload < MESSAGE or ICMP + payload > p.length
      or data[ICMP + 1] ~= 0 then
    return nil
  end
  local sum = checksum.pseudo6(data + IP, ICMP6, payload)
  if checksum.of(data + ICMP, payload, sum) ~= 0 then return nil end
  return ffi.string(data, ICMP + payload)
end

--- What a frame says, if it is neighbour discovery: as arp.read.
function nd.read(s, p)
  local bytes = message(p)
  local kind = bytes and bytes:byte(ICMP + 1)
  if kind ~= SOLICITATION and kind ~= ADVERTISEMENT then return nil end
  local mac = option(bytes, kind == SOLICITATION and SOURCE_MAC or TARGET_MAC)
  if mac == false then return nil end
  mac = mac or bytes:sub(7, 12)
  local source, target = bytes:sub(23, 38), bytes:sub(63, 78)
  if mac:byte(1) % 2 == 1 or source == s.address then return nil end
  if kind == ADVERTISEMENT then return {mac = mac, address = target} end
  local heard = {mac = mac, address = source}
  if target == s.address then heard.answer = advertisement(s, source, mac) end
  return heard
end

return nd
