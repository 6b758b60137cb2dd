-- SPDX-License-Identifier: Apache-2.0
-- ARP (RFC 826) for a tunnel's own IPv4 address. Host code: a few packets a second.

local ffi = require("ffi")
local packet = require("core.packet")
local settings = require("apps.vtep.settings")
local createStack = require("lib.stack").createStack

local arp = {}

local as_arp = createStack("eth", "arp")
local LENGTH, SHORTEST_FRAME = 42, 60 -- bytes
local REQUEST, REPLY = 1, 2
local ETHERNET_IPV4 = "\8\6\0\1\8\0\6\4" -- EtherType to address lengths
local BROADCAST = "ff:ff:ff:ff:ff:ff"

local function frame(s, operation, mac, address)
  local p = packet.allocate()
  as_arp(p):fill{
    ethDst = mac or BROADCAST, ethSrc = s.mac_text, arpOperation = operation,
    arpHardwareSrc = s.mac_text, arpProtoSrc = s.address_text,
    arpHardwareDst = mac or "00:00:00:00:00:00", arpProtoDst = address,
  }
  return packet.resize(p, SHORTEST_FRAME)
end

--- A request for the address (4 bytes) in the name of the tunnel with settings `s`.
function arp.request(s, address)
  return frame(s, REQUEST, nil, settings.text(address))
end

--- What an Ethernet frame says, if it is ARP: a table of `mac` and `address` (bytes)
--- of a neighbour, and `answer`, a packet to send; or nil. `p` stays the caller's.
function arp.read(s, p)
  if p.length < LENGTH then return nil end
  local bytes = ffi.string(p.data, LENGTH)
  if bytes:sub(13, 20) ~= ETHERNET_IPV4 then return nil end
  local operation = bytes:byte(21) * 256 + bytes:byte(22)
  local mac, address, target = bytes:sub(23, 28), bytes:sub(29, 32), bytes:sub(39, 42)
  if mac:byte(1) % 2 == 1 or address == s.address then return nil end
  local heard = {mac = mac, address = address}
  if operation == REQUEST and target == s.address then
    heard.answer = frame(s, REPLY, settings.text(mac), settings.text(address))
  end
  return heard
end

return arp
