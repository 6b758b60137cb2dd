-- SPDX-License-Identifier: Apache-2.0
-- A station: asks for its neighbours' MAC addresses, reads what they say and answers
-- for its own, by ARP (RFC 826) or neighbour discovery (RFC 4861). It is a table with
-- `family` (4 or 6), and `mac` and `address` in bytes. Host code: few packets a second.

local arp = require("net.neighbor.arp")
local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")
local nd = require("net.neighbor.nd")
local packet = require("core.packet")

local station = {}

local BROADCAST, NOBODY = ("\255"):rep(6), ("\0"):rep(6)

-- An ARP message to `mac`, or to all; padded to the shortest frame.
local function arp_message(s, operation, mac, address)
  local p = packet.resize(packet.allocate(), ethernet.SHORTEST)
  ffi.fill(p.data + arp.FRAME, ethernet.SHORTEST - arp.FRAME)
  arp.write(p.data, operation, s.mac, s.address, mac or BROADCAST, mac or NOBODY,
    address)
  return p
end

-- Of an ARP message: who says something, from where, and whether it asks for us.
local function read_arp(s, p)
  local data, operation = p.data, arp.operation(p.data, p.length)
  if not operation then return nil end
  local asks = operation == arp.REQUEST
    and ffi.string(data + arp.TARGET_IP, 4) == s.address
  return ffi.string(data + arp.SENDER_IP, 4), ffi.string(data + arp.SENDER_MAC, 6), asks
end

-- The same of one of neighbour discovery.
local function read_nd(s, p)
  local data, kind = p.data, nd.kind(p.data, p.length)
  local at = kind ~= 0 and nd.read(data, kind)
  if not at or ffi.string(data + nd.SOURCE, 16) == s.address then return nil end
  local asks = kind == nd.SOLICITATION
  return ffi.string(data + (asks and nd.SOURCE or nd.TARGET), 16),
    ffi.string(data + at, 6), asks and nd.is_about(data, s.address)
end

--- A packet that asks for the address (bytes).
function station.request(s, address)
  if s.family == 4 then return arp_message(s, arp.REQUEST, nil, address) end
  return nd.solicitation(s.mac, s.address, address)
end

--- What an Ethernet frame says, if it is of a neighbour: a table of its `address` and
--- `mac` (bytes), and `answer`, a packet to send; or nil. `p` stays the caller's.
function station.read(s, p)
  local address, mac, asks = (s.family == 4 and read_arp or read_nd)(s, p)
  if not address or address == s.address then return nil end
  local heard = {mac = mac, address = address}
  if asks and s.family == 4 then
    heard.answer = arp_message(s, arp.REPLY, mac, address)
  elseif asks then
    heard.answer = nd.advertisement(s.mac, s.address, p.data, nd.OVERRIDE)
  end
  return heard
end

return station
