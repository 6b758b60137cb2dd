-- SPDX-License-Identifier: Apache-2.0
-- Stations: one port for several lwAFTRs. A frame goes to the station that has its VLAN
-- and its destination MAC address, one for a group to all stations of the VLAN; tags
-- are taken off, and put on again. Stations that are alike share the flows.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local counter = require("core.counter")
local failure = require("core.failure")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local vlan = require("apps.vlan.vlan")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit
local band, bxor, rshift = bit.band, bit.bxor, bit.rshift
local C = ffi.C

local ETHERNET, TAG = 14, 4 -- bytes
local UNTAGGED = -1
local IP4_ADDRESSES, IP6_ADDRESSES = ETHERNET + 12, ETHERNET + 8 -- RFC 791, RFC 8200
local word_p = ffi.typeof("const uint32_t *")

local Stations = {
  config = {stations = {required = true, kind = "table"}},
  shm = {["drop-other-station-packets"] = {counter}},
}
Stations.__index = Stations
Stations.reconfig_keeps = {}

--- Stations{stations = a list of {name =, mac = 6 bytes, vlan = a tag or nil, family =
--- "v4", "v6" or nil: both}}. Links: `input` and `output` for the port, and one of its
--- name from and to each station.
function Stations:new(arg)
  local o = setmetatable({by_vlan = {}, list = {}}, Stations)
  for i, station in ipairs(arg.stations) do
    if type(station) ~= "table" then
      failure.usage("station %d is a %s; it takes {name=, mac=, vlan=, family=}", i,
        type(station))
    end
    local tag = station.vlan or UNTAGGED
    local s = {name = station.name, mac = station.mac, family = station.family,
      tag = station.vlan and lib.htonl(ether_type.VLAN * 65536 + tag)}
    o.by_vlan[tag] = o.by_vlan[tag] or {}
    table.insert(o.by_vlan[tag], s)
    o.list[i] = s
  end
  return o
end

-- The tag's number, after which the frame has none; -1 if it had none.
local function take_tag(p)
  local data = p.data
  if p.length < ETHERNET + TAG or data[12] ~= 0x81 or data[13] ~= 0 then
    return UNTAGGED
  end
  local id = vlan.tci_to_vid(vlan.extract_tci(p))
  vlan.pop_tag(p)
  return id
end

local function family_of(p)
  local data = p.data
  if data[12] == 8 and (data[13] == 0 or data[13] == 6) then return "v4" end
  return "v6"
end

-- The same for both directions of a flow, and for all of its fragments.
local function flow(p, family)
  local from = family == "v4" and IP4_ADDRESSES or IP6_ADDRESSES
  local words = family == "v4" and 2 or 8
  if p.length < from + 4 * words then return 0 end
  local sum, address = 0, ffi.cast(word_p, p.data + from)
  for i = 0, words - 1 do sum = bxor(sum, address[i]) end
  sum = bxor(sum, rshift(sum, 16))
  return band(bxor(sum, rshift(sum, 8)), 255)
end

local function fits(station, p, family, group)
  return (station.family or family) == family
    and (group or C.memcmp(p.data, station.mac, 6) == 0)
end

-- A frame for a group: everybody gets a copy, the last one the frame itself.
local function give_all(self, stations, p, family)
  local last
  for _, station in ipairs(stations) do
    if fits(station, p, family, true) then
      if last then transmit(self.output[last.name], packet.clone(p)) end
      last = station
    end
  end
  return last
end

local function choose(stations, p, family)
  local n = 0
  for _, station in ipairs(stations) do
    if fits(station, p, family) then n = n + 1 end
  end
  if n == 0 then return nil end
  local nth = n > 1 and flow(p, family) % n or 0
  for _, station in ipairs(stations) do
    if fits(station, p, family) then
      if nth == 0 then return station end
      nth = nth - 1
    end
  end
end

local function give(self, p)
  local target
  if p.length >= ETHERNET then
    local stations = self.by_vlan[take_tag(p)]
    local family = family_of(p)
    if stations and p.data[0] % 2 == 1 then
      target = give_all(self, stations, p, family)
    elseif stations then
      target = choose(stations, p, family)
    end
  end
  local output = target and self.output[target.name]
  if output then return transmit(output, p) end
  counter.add(self.shm["drop-other-station-packets"])
  packet.free(p)
end

local function give_some(self, input, n)
  for _ = 1, n do give(self, receive(input)) end
end

local function take(input, output, tag, n)
  for _ = 1, n do
    local p = receive(input)
    if tag then p = vlan.push_tag(p, tag) end
    transmit(output, p)
  end
end

Stations.needs_packets = true

function Stations:push()
  local input, output = self.input.input, self.output.output
  if input then give_some(self, input, nreadable(input)) end
  for _, station in ipairs(self.list) do
    local from = self.input[station.name]
    if from and output then take(from, output, station.tag, nreadable(from)) end
  end
end

return {Stations = Stations}
