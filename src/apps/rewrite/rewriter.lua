-- SPDX-License-Identifier: Apache-2.0
-- Rewriter: gives packets other addresses, ports and VLAN tags, with the checksums that
-- belong to them, and hands them to a function of the user's.

local C = require("core.declare")("apps/rewrite/rewrite.h")
local bytes = require("net.wire.bytes")
local counter = require("core.counter")
local ether_type = require("net.wire.ether_type")
local failure = require("core.failure")
local ffi = require("ffi")
local maps = require("apps.rewrite.maps")
local packet = require("core.packet")
local vlan = require("apps.vlan.vlan")

local read16, write16 = bytes.read16, bytes.write16
local band = bit.band

local Rewriter = {
  argument = "table",
  drops = {"by the edit function", "too long for a tag"},
  shm = {changed = {counter}, stale_checksums = {counter}},
  link_names = {input = {input = true}, output = {output = true}},
}
Rewriter.__index = Rewriter
local BY_EDIT, TOO_LONG = 1, 2

local MACS, TAG, TCI = 12, 4, 14 -- bytes
local VLAN_BITS, PRIORITY = 0x0fff, 0x2000
local LONGEST = packet.max_payload - TAG
local rewrite_t = ffi.typeof("struct rewrite")

-- A list as it is, or what the parser makes of texts.
local function list_of(value, parse, name)
  local list = {}
  for _, item in ipairs(type(value) == "table" and value or {value}) do
    local parsed, problem = item, nil
    if type(item) == "string" then parsed, problem = parse(item) end
    if not parsed then failure.usage("%s: %s", name, problem) end
    for _, map in ipairs(parsed[1] and parsed or {parsed}) do list[#list + 1] = map end
  end
  if #list > C.REWRITE_MOST then
    failure.usage("%s: there are up to %d, not %d", name, C.REWRITE_MOST, #list)
  end
  return list
end

local function set_ips(r, list)
  for i, map in ipairs(list) do
    local to = r.ip[i - 1]
    ffi.copy(to.from, map.from.bytes, #map.from.bytes)
    ffi.copy(to.to, map.to.bytes, #map.to.bytes)
    to.length, to.to_length, to.version = map.from.length, map.to.length, map.to.version
  end
  r.ips = #list
end

local function set_macs(r, list)
  for i, map in ipairs(list) do
    ffi.copy(r.mac[i - 1].from, map.from, 6)
    ffi.copy(r.mac[i - 1].to, map.to, 6)
  end
  r.macs = #list
end

-- The first map of a port counts.
local function set_ports(r, list)
  for port = 0, 65535 do r.port[port] = port end
  for i = #list, 1, -1 do
    local map = list[i]
    for port = map.first, map.last do
      r.port[port] = map.to + (port - map.first) * map.step
    end
  end
  r.ports = #list > 0 and 1 or 0
end

--- Make the app. `arg` is a table of what is wanted: `map_ip`, `map_mac`, `map_port`:
--- texts as for apps.rewrite.maps, one or an array; `vlan`: such a text; `edit`: a
--- function of a packet (core.packet), called with what the others have made of it,
--- that changes it, and returns false to drop it; `fix_checksums`: true computes all
--- anew.
function Rewriter:new(arg)
  local r = rewrite_t()
  set_ips(r, list_of(arg.map_ip, maps.ip, "map_ip"))
  set_macs(r, list_of(arg.map_mac, maps.mac, "map_mac"))
  set_ports(r, list_of(arg.map_port, maps.port, "map_port"))
  local tag = list_of(arg.vlan, maps.vlan, "vlan")[1]
  return setmetatable({rewrite = r, maps = r.ips + r.macs + r.ports > 0,
    tag = tag or false, edit = arg.edit or false,
    fix = arg.fix_checksums or false}, self)
end

local function is_tagged(p)
  return p.length >= MACS + TAG + 2 and ether_type.TAGS[read16(p.data + MACS)] ~= nil
end

-- The packet with the tag that is wanted; nil: it has no room for it.
local function change_tag(p, tag)
  if tag.strip then return is_tagged(p) and vlan.pop_tag(p) or p end
  if tag.add then
    if p.length > LONGEST then return nil end
    if p.length < MACS then return p end
    p = vlan.push_tag(p, 0)
    write16(p.data + MACS, ether_type.VLAN)
    write16(p.data + TCI, tag.priority * PRIORITY + tag.add)
  elseif is_tagged(p) then
    local tci = read16(p.data + TCI)
    local old = band(tci, VLAN_BITS)
    if not tag.from or old == tag.from then
      write16(p.data + TCI, tci - old + tag.to)
    end
  end
  return p
end

function Rewriter:process(p)
  if self.tag then
    p = change_tag(p, self.tag)
    if not p then return nil, TOO_LONG end
  end
  if self.maps then C.pg_rewrite_packet(self.rewrite, p) end
  if self.edit and self.edit(p) == false then return nil, BY_EDIT end
  if self.fix then C.pg_rewrite_checksums(p) end
  return p
end

function Rewriter:tick()
  counter.set(self.shm.changed, self.rewrite.changed)
  counter.set(self.shm.stale_checksums, self.rewrite.stale)
end

return {Rewriter = Rewriter}
