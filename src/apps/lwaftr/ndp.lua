-- SPDX-License-Identifier: Apache-2.0
-- NDP: finds the next hop's MAC address by neighbour discovery (RFC 4861), writes it
-- into packets that go south, and answers solicitations of its own address. Until it
-- is known, packets wait in the link. Arguments, links and counters are upstream's.

local addresses = require("net.address.address")
local ip6 = require("net.ip.ip6")
local transmit = require("core.link").transmit
local nd = require("net.neighbor.nd")
local next_hop = require("net.neighbor.next_hop")
local snabb_alarm = require("lib.snabb_alarm")

local HEADERS, ICMP = ip6.HEADERS, ip6.ICMP
local FIRST, LAST = 133, 137 -- types of neighbour discovery (RFC 4861, section 4)

local count = next_hop.count

local NDP = next_hop.class({
  protocol = {name = "NDP", text = addresses.text, bytes = 16,
              counter = "next-hop-macaddr-v6"},
  shm = {},
}, {"in-ndp-ns", "out-ndp-ns", "in-ndp-na", "out-ndp-na"})

--- NDP{self_ip=, next_ip= or next_mac=, self_mac=, ...}: the README tells.
function NDP:new(arg)
  return next_hop.new(NDP, arg, {is_router = {default = true}},
    snabb_alarm.unresolved("NDP", "IPv6 address"))
end

function NDP:ask(south)
  local p = nd.solicitation(self.self_mac, self.self_ip, self.next_ip)
  count(self, "out-ndp-ns", p)
  transmit(south, p)
end

-- Neighbour discovery.
function NDP.is_message(data, length)
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
function NDP:listen(p, south)
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

function NDP:too_short(p, south) transmit(south, p) end

return {NDP = NDP}
