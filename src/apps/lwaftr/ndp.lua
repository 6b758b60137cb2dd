-- SPDX-License-Identifier: Apache-2.0
-- NDP: finds the next hop's MAC address by neighbour discovery (RFC 4861), writes it
-- into packets that go south, and answers solicitations of its own address. Until it
-- is known, packets wait in the link. Arguments, links and counters are upstream's.

local addresses = require("net.address.address")
local ip6 = require("net.ip.ip6")
local counter = require("core.counter")
local link = require("core.link")
local nd = require("net.neighbor.nd")
local next_hop = require("net.neighbor.next_hop")
local packet = require("core.packet")
local snabb_alarm = require("lib.snabb_alarm")

local receive, transmit = link.receive, link.transmit

local HEADERS, ICMP = ip6.HEADERS, ip6.ICMP
local FIRST, LAST = 133, 137 -- types of neighbour discovery (RFC 4861, section 4)

local count = next_hop.count

local NDP = {
  protocol = {name = "NDP", text = addresses.text, bytes = 16,
              counter = "next-hop-macaddr-v6"},
  needs_packets = true, tick_seconds = 0.2,
  shm = {
    ["next-hop-macaddr-v6"] = {counter},
    ["in-ndp-ns-bytes"] = {counter}, ["in-ndp-ns-packets"] = {counter},
    ["out-ndp-ns-bytes"] = {counter}, ["out-ndp-ns-packets"] = {counter},
    ["in-ndp-na-bytes"] = {counter}, ["in-ndp-na-packets"] = {counter},
    ["out-ndp-na-bytes"] = {counter}, ["out-ndp-na-packets"] = {counter},
  },
}
NDP.__index, NDP.reconfig_keeps = NDP, next_hop.kept

--- NDP{self_ip=, next_ip= or next_mac=, self_mac=, ...}: the README tells.
function NDP:new(arg)
  return next_hop.new(NDP, arg, {is_router = {default = true}},
    snabb_alarm.unresolved("NDP", "IPv6 address"))
end

local function ask(self, south)
  local p = nd.solicitation(self.self_mac, self.self_ip, self.next_ip)
  count(self, "out-ndp-ns", p)
  transmit(south, p)
end

local function is_discovery(p)
  local data, length = p.data, p.length
  return length >= HEADERS + 4 and ip6.is_ipv6(data, length) and data[20] == ICMP
    and data[HEADERS] >= FIRST and data[HEADERS] <= LAST
end

-- Without an option for it the MAC address is the frame's own (RFC 4861, section 4.4).
local function advertised(self, data, at)
  if self.next_mac or not nd.is_solicited(data) or not nd.is_about(data, self.next_ip)
  then
    return
  end
  next_hop.heard(self, data + at)
end

local function solicited(self, data, south)
  if not nd.is_about(data, self.self_ip) then return end
  local answer = nd.advertisement(self.self_mac, self.self_ip, data,
    self.is_router and nd.ROUTER or 0)
  count(self, "out-ndp-na", answer)
  transmit(south, answer)
end

-- Read a packet of neighbour discovery, which stays the caller's.
local function listen(self, p, south)
  local data, kind = p.data, nd.kind(p.data, p.length)
  local at = kind ~= 0 and nd.read(data, kind)
  if not at then return end
  if kind == nd.SOLICITATION then
    count(self, "in-ndp-ns", p)
    solicited(self, data, south)
  else
    count(self, "in-ndp-na", p)
    advertised(self, data, at)
  end
end

local function from_south(self, input, north, south, n)
  for _ = 1, n do
    local p = receive(input)
    if is_discovery(p) then
      listen(self, p, south)
      packet.free(p)
    else
      transmit(north, p)
    end
  end
end

local function too_short(_, p, south) transmit(south, p) end

function NDP:tick() next_hop.seek(self, ask) end
function NDP:push() next_hop.push(self, ask, from_south, too_short) end

return {NDP = NDP}
