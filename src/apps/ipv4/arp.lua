-- SPDX-License-Identifier: Apache-2.0
-- ARP (RFC 826): finds the MAC address of the next hop, writes it into packets that go
-- south, and answers requests for its own. Until it is known, packets wait in the link.

local arp = require("net.neighbor.arp")
local ffi = require("ffi")
local address = require("lib.stack.address")
local ip4 = require("net.ip.ip4")
local counter = require("core.counter")
local failure = require("core.failure")
local lib = require("core.lib")
local link = require("core.link")
local next_hop = require("lib.next_hop")
local packet = require("core.packet")

local C = ffi.C
local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local ETHERNET, LENGTH = ip4.ETHERNET, arp.FRAME -- bytes: of the header, with ARP's
local REQUEST, REPLY = arp.REQUEST, arp.REPLY
local SENDER_MAC, SENDER_IP, TARGET_IP = arp.SENDER_MAC, arp.SENDER_IP, arp.TARGET_IP
local mac_t = ffi.typeof("uint8_t[6]")
local NOBODY = mac_t()
local EVERYBODY = mac_t(255, 255, 255, 255, 255, 255)

local count = next_hop.count

local ARP = {
  protocol = {name = "ARP", address = address.Ip4, counter = "next-hop-macaddr-v4",
              what = "IP address"},
  needs_packets = true, tick_seconds = 0.2,
  shm = {
    ["next-hop-macaddr-v4"] = {counter}, ["drop-arp-invalid-packets"] = {counter},
    ["in-arp-request-bytes"] = {counter}, ["in-arp-request-packets"] = {counter},
    ["out-arp-request-bytes"] = {counter}, ["out-arp-request-packets"] = {counter},
    ["in-arp-reply-bytes"] = {counter}, ["in-arp-reply-packets"] = {counter},
    ["out-arp-reply-bytes"] = {counter}, ["out-arp-reply-packets"] = {counter},
  },
}
ARP.__index, ARP.reconfig_keeps = ARP, next_hop.kept

local ARGUMENTS = {
  self_mac = {default = false}, self_ip = {required = true},
  next_mac = {default = false}, next_ip = {default = false},
  alarm_notification = {default = false}, shared_next_mac_key = {},
}

-- An ARP packet to the MAC address `to`.
local function make(operation, mac, ip, to, to_mac, to_ip)
  local p = packet.resize(packet.allocate(), LENGTH)
  arp.write(p.data, operation, mac, ip, to, to_mac, to_ip)
  return p
end

--- ARP{self_ip=, next_ip= or next_mac=, self_mac=, ...}: the README tells.
function ARP:new(arg)
  local o = lib.parse(arg, ARGUMENTS)
  if not (o.next_mac or o.next_ip) then
    failure.usage("ARP needs next_ip, to find the next hop's MAC address, or next_mac")
  end
  next_hop.begin(setmetatable(o, ARP))
  return o
end

local function ask(self, output)
  local request = make(REQUEST, self.self_mac, self.self_ip, EVERYBODY, NOBODY,
    self.next_ip)
  count(self, "out-arp-request", request)
  transmit(output, request)
end

-- Read an ARP packet, which stays the caller's.
local function listen(self, p, south)
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

local function from_south(self, input, north, south, n)
  for _ = 1, n do
    local p = receive(input)
    local data, length = p.data, p.length
    if length < ETHERNET then
      counter.add(self.shm["drop-arp-invalid-packets"])
      packet.free(p)
    elseif data[12] == 8 and data[13] == 6 and length >= LENGTH then
      listen(self, p, south)
      packet.free(p)
    else
      transmit(north, p)
    end
  end
end

local function from_north(self, input, south, n)
  local next_mac, self_mac = self.next_mac, self.self_mac
  for _ = 1, n do
    local p = receive(input)
    if p.length < ETHERNET then
      counter.add(self.shm["drop-arp-invalid-packets"])
      packet.free(p)
    else
      ffi.copy(p.data, next_mac, 6)
      ffi.copy(p.data + 6, self_mac, 6)
      transmit(south, p)
    end
  end
end

function ARP:tick() next_hop.seek(self, ask) end

function ARP:push()
  local input, output = self.input, self.output
  next_hop.seek(self, ask)
  from_south(self, input.south, output.north, output.south, nreadable(input.south))
  if self.next_mac then
    from_north(self, input.north, output.south, nreadable(input.north))
  end
end

return {ARP = ARP}
