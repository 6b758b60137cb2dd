-- SPDX-License-Identifier: Apache-2.0
-- ARP (RFC 826) for a tunnel's own IPv4 address. Host code: a few packets a second.

local codec = require("net.neighbor.arp")
local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")
local packet = require("core.packet")

local arp = {}

local BROADCAST, NOBODY = ("\255"):rep(6), ("\0"):rep(6)
local FRAME, SENDER_MAC, SENDER_IP = codec.FRAME, codec.SENDER_MAC, codec.SENDER_IP

-- A message to `mac`, or to all; padded to the shortest frame.
local function frame(s, operation, mac, address)
  local p = packet.resize(packet.allocate(), ethernet.SHORTEST)
  ffi.fill(p.data + FRAME, ethernet.SHORTEST - FRAME)
  codec.write(p.data, operation, s.mac, s.address, mac or BROADCAST, mac or NOBODY,
    address)
  return p
end

--- A request for the address (4 bytes) in the name of the tunnel with settings `s`.
function arp.request(s, address)
  return frame(s, codec.REQUEST, nil, address)
end

--- What an Ethernet frame says, if it is ARP: a table of `mac` and `address` (bytes)
--- of a neighbour, and `answer`, a packet to send; or nil. `p` stays the caller's.
function arp.read(s, p)
  local operation = codec.operation(p.data, p.length)
  if not operation then return nil end
  local mac = ffi.string(p.data + SENDER_MAC, 6)
  local address = ffi.string(p.data + SENDER_IP, 4)
  if address == s.address then return nil end
  local heard = {mac = mac, address = address}
  if operation == codec.REQUEST
    and ffi.string(p.data + codec.TARGET_IP, 4) == s.address then
    heard.answer = frame(s, codec.REPLY, mac, address)
  end
  return heard
end

return arp
