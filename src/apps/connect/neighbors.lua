-- SPDX-License-Identifier: Apache-2.0
-- What an endpoint says to its neighbours: it answers for all addresses of its range,
-- and asks for those that it sends to. Few packets; slow.

local arp = require("net.neighbor.arp")
local C = require("core.declare")("net/tcp/connection.h")
local cache = require("net.neighbor.cache")
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local htonl = require("core.lib").htonl
local link = require("core.link")
local nd = require("net.neighbor.nd")
local ranges = require("apps.connect.ranges")
local addresses = require("net.address.address")
local station = require("net.neighbor.station")
local vlan = require("apps.vlan.vlan")

local M = {}

local Neighbors = {}
Neighbors.__index = Neighbors

-- Seconds: 6 requests, and as long a wait behind the last.
local BETWEEN, TRIES = 0.5, 6
local AT_ONCE = 64 -- neighbours that are asked for at a time

--- For the endpoint (C's struct) whose own addresses are `range`; `targets`: the
--- addresses (bytes) that it sends to, in the order of its hops; empty: it asks for
--- none.
function M.new(endpoint, range, targets)
  local by_address = {}
  for i, address in ipairs(targets) do by_address[address] = i - 1 end
  return setmetatable({
    endpoint = endpoint, targets = targets, by_address = by_address, next = 1,
    waiting = {}, own = range, cache = cache.new{between = BETWEEN, tries = TRIES,
      entry_capacity = math.max(#targets, 1)},
    station = {family = range.family, mac = ffi.string(endpoint.mac, 6),
               address = ranges.address(range, 0)},
  }, Neighbors)
end

local function send(self, output, p)
  local id = self.endpoint.vlan
  if id ~= 0 then p = vlan.push_tag(p, htonl(ether_type.VLAN * 2^16 + id)) end
  link.transmit(output, p)
end

-- The address that a message is about: one of ours, if it asks for one.
local function target_of(self, p)
  local at, n = arp.TARGET_IP, 4
  if self.station.family == 6 then at, n = nd.TARGET, 16 end
  if p.length < at + n then return nil end
  local bytes = ffi.new("uint8_t[16]")
  ffi.copy(bytes, p.data + at, n)
  if C.pg_tcp_index(self.endpoint.server and self.endpoint.servers
    or self.endpoint.clients, bytes) < 0 then
    return nil
  end
  return ffi.string(bytes, n)
end

local function learn(self, address, mac)
  local hop = self.by_address[address]
  if not hop then return end
  local entry = self.endpoint.hops[hop]
  ffi.copy(entry.mac, mac, 6)
  entry.known = 1
  self.cache:insert(address, mac, 0)
  self.waiting[address] = nil
end

--- Hear a packet of ARP or neighbour discovery; it stays the caller's, but its start
--- may move.
function Neighbors:hear(p, output)
  if self.endpoint.vlan ~= 0 then p = vlan.pop_tag(p) end
  local s = self.station
  s.address = target_of(self, p) or s.address
  local heard = station.read(s, p)
  if not heard then return end
  learn(self, heard.address, heard.mac)
  if heard.answer then send(self, output, heard.answer) end
end

--- Ask for what isn't known. True: all is known; or false and, if one didn't answer,
--- its address as text.
function Neighbors:ask(now, output)
  local asked = 0
  for _ in pairs(self.waiting) do asked = asked + 1 end
  while asked < AT_ONCE and self.targets[self.next] do
    local address = self.targets[self.next]
    self.next = self.next + 1
    if not self.cache:ensure(address, now).known then
      self.waiting[address] = true
      asked = asked + 1
    end
  end
  for address in pairs(self.waiting) do
    local entry = self.cache:ensure(address, now)
    if self.cache:tend(entry, now, function ()
      send(self, output, station.request(self.station, address))
    end) then
      return false, addresses.text(address)
    end
  end
  return next(self.waiting) == nil
end

M.SECONDS = BETWEEN * TRIES
--- So often it is to be asked whether all is known.
M.LOOK_SECONDS = 0.02

return M
