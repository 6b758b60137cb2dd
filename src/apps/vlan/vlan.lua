-- SPDX-License-Identifier: Apache-2.0
-- Tagger, Untagger and VlanMux: put VLAN tags (IEEE 802.1Q) on frames, take them off,
-- and spread the frames of a trunk over links by tag. Tagger and Untagger are
-- per-packet apps. A tag is 4 bytes behind the MAC addresses: EtherType and VLAN.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local counter = require("core.counter")
local failure = require("core.failure")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local unfused = require("core.fuse.unfused")

ffi.cdef("void *memmove(void *, const void *, size_t);")

local band, rshift = bit.band, bit.rshift
local htonl, ntohs = lib.htonl, lib.ntohs
local memmove = ffi.C.memmove
local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local MACS, TAG, HEADER = 12, 4, 14 -- bytes
local TPIDS = {dot1q = ether_type.VLAN, dot1ad = ether_type.QINQ}
local LONGEST = packet.max_payload - TAG
local word_t, half_t = ffi.typeof("uint32_t *"), ffi.typeof("uint16_t *")

local vlan = {}

--- Take the tag off a frame of at least 16 bytes; returns it.
function vlan.pop_tag(p)
  memmove(p.data + TAG, p.data, MACS)
  return packet.shiftleft(p, TAG)
end
local pop_tag = vlan.pop_tag

--- Put the tag (32 bits in network order) on a frame of at least 12 bytes; returns it.
function vlan.push_tag(p, tag)
  p = packet.shiftright(p, TAG)
  memmove(p.data, p.data + TAG, MACS)
  ffi.cast(word_t, p.data + MACS)[0] = tag
  return p
end
local push_tag = vlan.push_tag

--- The 16 bits behind a tag's EtherType: priority, drop eligible, VLAN.
function vlan.extract_tci(p)
  return (ntohs(ffi.cast(half_t, p.data + HEADER)[0]))
end

--- The VLAN in them.
function vlan.tci_to_vid(tci) return band(tci, 0xfff) end

--- A VLAN that apps take: 0 to 4094.
function vlan.check_tag(tag)
  if type(tag) ~= "number" or tag % 1 ~= 0 or tag < 0 or tag > 4094 then
    failure.usage("the VLAN tag %s is out of range: there are 0 to 4094", tostring(tag))
  end
  return tag
end

--- Set self.tpid to the EtherType that arg.encapsulation names or is.
function vlan.new_aux(self, arg)
  local encapsulation = arg and arg.encapsulation or "dot1q"
  local tpid = TPIDS[encapsulation] or encapsulation
  if type(tpid) ~= "number" then
    failure.usage("the VLAN encapsulation '%s' isn't known; there are dot1q, dot1ad "
      .. "and numbers", tostring(encapsulation))
  end
  self.tpid = band(tpid, 0xffff)
  return self
end

local function build_tag(vid, tpid)
  return htonl(tpid * 65536 + vid)
end

local function class(arg)
  local c = {config = {encapsulation = {default = "dot1q"}}}
  for name, spec in pairs(arg) do c.config[name] = spec end
  c.__index, c.reconfig_keeps, c.division = c, {}, "any"
  return c
end

local IN_OUT = {input = {input = true}, output = {output = true}}

-- For a class with the argument `tag`.
local function new_with_tag(self, arg)
  local o = vlan.new_aux(unfused.new(self, {}), arg)
  o.tag = build_tag(vlan.check_tag(arg.tag), o.tpid)
  return o
end

--- Tagger{tag=, encapsulation=}: puts the tag on every frame.
local Tagger = class{tag = {required = true}}
Tagger.link_names, Tagger.new = IN_OUT, new_with_tag
Tagger.drops = {"short", "oversize"}
vlan.Tagger = Tagger

function Tagger:process(p)
  if p.length < MACS then return nil, 1 end
  if p.length > LONGEST then return nil, 2 end
  return push_tag(p, self.tag)
end

unfused.give_push(Tagger)

--- Untagger{tag=, encapsulation=}: takes the tag off frames with it, drops others.
local Untagger = class{tag = {required = true}}
Untagger.link_names, Untagger.new = IN_OUT, new_with_tag
Untagger.drops = {"other tag"}
vlan.Untagger = Untagger

function Untagger:process(p)
  if p.length < MACS + TAG or ffi.cast(word_t, p.data + MACS)[0] ~= self.tag then
    return nil, 1
  end
  return pop_tag(p)
end

unfused.give_push(Untagger)

--- VlanMux{encapsulation=}: frames of the link `trunk` go to `vlanN` by their tag,
--- which is taken off, untagged ones to `native`; and the other way.
local VlanMux = class{}
VlanMux.needs_packets = true
VlanMux.shm = {drop_no_link = {counter}, drop_short = {counter},
  drop_oversize = {counter}}
vlan.VlanMux = VlanMux

function VlanMux:new(arg)
  local o = setmetatable({by_vid = {}, push_link = {}}, VlanMux)
  return vlan.new_aux(o, arg)
end

-- The VLAN that a link's name stands for; nil for the trunk, 0 for native frames.
local function link_vid(name)
  local vid = name:match("^vlan(%d+)$")
  if vid then return vlan.check_tag(tonumber(vid)) end
  if name == "native" then return 0 end
  if name ~= "trunk" then
    failure.usage("VlanMux has no link '%s'; it has trunk, native, vlan0 to vlan4094",
      name)
  end
end

local function drop(self, p, name)
  counter.add(self.shm[name])
  packet.free(p)
end

-- Frames of a VLAN to the trunk, with its tag.
local function tag_all(self, input, trunk, tag, n)
  for _ = 1, n do
    local p = receive(input)
    if not trunk then
      drop(self, p, "drop_no_link")
    elseif p.length < MACS then
      drop(self, p, "drop_short")
    elseif p.length > LONGEST then
      drop(self, p, "drop_oversize")
    else
      transmit(trunk, push_tag(p, tag))
    end
  end
end

-- Untagged frames to the trunk, as they are.
local function pass_all(self, input, trunk, n)
  for _ = 1, n do
    local p = receive(input)
    if trunk then transmit(trunk, p) else drop(self, p, "drop_no_link") end
  end
end

local function from_trunk(self, input, n)
  local links, tpid = self.by_vid, self.tpid
  local first, second = rshift(tpid, 8), band(tpid, 0xff)
  for _ = 1, n do
    local p = receive(input)
    local data, length, vid = p.data, p.length, 0
    local is_tagged = length >= HEADER and data[MACS] == first and data[13] == second
    if length < HEADER or is_tagged and length < MACS + TAG then
      drop(self, p, "drop_short")
    else
      if is_tagged then vid = band(data[14], 15) * 256 + data[15] end
      local output = links[vid]
      if not output then
        drop(self, p, "drop_no_link")
      else
        if is_tagged then p = pop_tag(p) end
        transmit(output, p)
      end
    end
  end
end

function VlanMux:link(direction, name)
  local vid = link_vid(name)
  if direction == "output" then
    if vid then self.by_vid[vid] = self.output[name] end
  elseif not vid then
    self.push_link[name] = function (app, input)
      from_trunk(app, input, nreadable(input))
    end
  elseif name == "native" then
    self.push_link[name] = function (app, input)
      pass_all(app, input, app.output.trunk, nreadable(input))
    end
  else
    local tag = build_tag(vid, self.tpid)
    self.push_link[name] = function (app, input)
      tag_all(app, input, app.output.trunk, tag, nreadable(input))
    end
  end
end

function VlanMux:unlink(direction, name)
  local vid = link_vid(name)
  if direction == "output" and vid then self.by_vid[vid] = nil end
end

return vlan
