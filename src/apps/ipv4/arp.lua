-- SPDX-License-Identifier: Apache-2.0
-- ARP (RFC 826): finds the MAC address of the next hop, writes it into packets that go
-- south, and answers requests for its own. Until it is known, packets wait in the link.

local arp = require("net.neighbor.arp")
local ffi = require("ffi")
local addresses = require("net.address.address")
local ip4 = require("net.ip.ip4")
local counter = require("core.counter")
local transmit = require("core.link").transmit
local next_hop = require("net.neighbor.next_hop")
local packet = require("core.packet")
local snabb_alarm = require("lib.snabb_alarm")

local C = ffi.C

local ETHERNET, LENGTH = ip4.ETHERNET, arp.FRAME -- bytes: of the header, with ARP's
local REQUEST, REPLY = arp.REQUEST, arp.REPLY
local SENDER_MAC, SENDER_IP, TARGET_IP = arp.SENDER_MAC, arp.SENDER_IP, arp.TARGET_IP
local mac_t = ffi.typeof("uint8_t[6]")
local NOBODY = mac_t()
local EVERYBODY = mac_t(255, 255, 255, 255, 255, 255)

local count = next_hop.count

local ARP = next_hop.class({
  protocol = {name = "ARP", text = addresses.text, bytes = 4,
              counter = "next-hop-macaddr-v4"},
  shm = {["drop-arp-invalid-packets"] = {counter}},
}, {"in-arp-request", "out-arp-request", "in-arp-reply", "out-arp-reply"})

-- An ARP packet to the MAC address `to`.
local function make(operation, mac, ip, to, to_mac, to_ip)
  local p = packet.resize(packet.allocate(), LENGTH)
  arp.write(p.data, operation, mac, ip, to, to_mac, to_ip)
  return p
end

--- ARP{self_ip=, next_ip= or next_mac=, self_mac=, ...}: the README tells.
function ARP:new(arg)
  return next_hop.new(ARP, arg, {}, snabb_alarm.unresolved("ARP", "IP address"))
end

function ARP:ask(output)
  local request = make(REQUEST, self.self_mac, self.self_ip, EVERYBODY, NOBODY,
    self.next_ip)
  count(self, "out-arp-request", request)
  transmit(output, request)
end

-- ARP, and what is no frame.
function ARP.is_message(data, length)
  return length < ETHERNET or data[12] == 8 and data[13] == 6 and length >= LENGTH
end

-- Read an ARP packet, which stays the caller's.
function ARP:listen(p, south)
  local data = p.data
  local operation = arp.operation(data, p.length, true)
  if operation ~= REQUEST and operation ~= REPLY then
    counter.add(self.shm["drop-arp-invalid-packets"])
  elseif operation == REQUEST then
    count(self, "in-arp-request", p)
    if C.memcmp(data + TARGET_IP, self.self_ip, 4) ~= 0 then return end
    local reply = make(REPLY, self.self_mac, self.self_ip, data + SENDER_MAC,
      data + SENDER_MAC, data + SENDER_IP)
    count(self, "out-arp-reply", reply)
    transmit(south, reply)
  else
    count(self, "in-arp-reply", p)
    if self.next_ip and C.memcmp(data + SENDER_IP, self.next_ip, 4) == 0 then
      next_hop.heard(self, data + SENDER_MAC)
    end
  end
end

function ARP:too_short(p)
  counter.add(self.shm["drop-arp-invalid-packets"])
  packet.free(p)
end

return {ARP = ARP}
