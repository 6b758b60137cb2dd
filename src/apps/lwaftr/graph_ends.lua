-- SPDX-License-Identifier: Apache-2.0
-- The outer ends of an lwAFTR's graph: VLAN tags, and both sides on one interface ("on
-- a stick").

local config = require("core.config")
local vlan = require("apps.vlan.vlan")

local ends = {}

local ETHERNET, TAGGED = 14, 18 -- bytes of headers

--- Divide: IPv4 and ARP go another way than the rest, also behind a VLAN tag.
local Divide = {outputs = {"v4", "v6"}, lengthens = 0}
Divide.__index = Divide
ends.Divide = Divide

function Divide:new() return setmetatable({}, self) end

function Divide:process(p)
  local data, length, at = p.data, p.length, 12
  if length >= TAGGED and data[12] == 0x81 and data[13] == 0 then at = 16 end
  local is_v4 = length >= ETHERNET and data[at] == 8
    and (data[at + 1] == 0 or data[at + 1] == 6)
  return p, is_v4 and 1 or 2
end

local Join = require("apps.lwaftr.fast").Join

-- `outside` is {source, sink} of frames with the tag; returns that of frames without.
local function untagged(building, name, tag, outside)
  if not tag then return outside end
  local untag = building:app("untag" .. name, vlan.Untagger, {tag = tag})
  local put = building:app("tag" .. name, vlan.Tagger, {tag = tag})
  config.link(building.c, ("%s -> %s.input"):format(outside[1], untag))
  config.link(building.c, ("%s.output -> %s"):format(put, outside[2]))
  return {untag .. ".output", put .. ".input"}
end

-- Both sides on the interface `outside`, which are told apart by their tags, or by what
-- the frames are.
local function on_a_stick(building, tags, outside)
  if tags.v4 ~= tags.v6 then
    local mux = building:app("vlanmux", vlan.VlanMux, {})
    config.link(building.c, ("%s -> %s.trunk"):format(outside[1], mux))
    config.link(building.c, ("%s.trunk -> %s"):format(mux, outside[2]))
    local result = {}
    for _, family in ipairs{"v4", "v6"} do
      local tag = tags[family]
      local port = ("%s.%s"):format(mux, tag and "vlan" .. tag or "native")
      result[family] = {port, port}
    end
    return result
  end
  outside = untagged(building, "", tags.v4, outside)
  local divide, both = building:app("divide", Divide), building:app("both", Join)
  config.link(building.c, ("%s -> %s.input"):format(outside[1], divide))
  config.link(building.c, ("%s.output -> %s"):format(both, outside[2]))
  return {v4 = {divide .. ".v4", both .. ".v4"}, v6 = {divide .. ".v6", both .. ".v6"}}
end

-- Link several ends of ours to `sink`: by inputs of its own if it is a port's and has
-- them, else by an app that joins them.
local function link_all(building, family, list, sink)
  local c = building.c
  local name, input = sink:match("^(%S+)%.([^.]+)$")
  local class = c.apps[name] and c.apps[name].class
  local known = class and class.link_names and class.link_names.input
  if #list > 1 and not (known and known[input .. #list]) then
    local join = building:app("join" .. family, Join)
    config.link(c, ("%s.output -> %s"):format(join, sink))
    name, input = join, "input"
  end
  for i, from in ipairs(list) do
    config.link(c, ("%s -> %s.%s%s"):format(building:at(from), name, input,
      i > 1 and i or ""))
  end
end

--- Link the ends of `ways` ({v4 = {first, a list of last ones}, v6 = ...}) with what
--- graph.add's argument `o` says.
function ends.link(building, ways, o)
  local tags = {v4 = building.queue.external_interface.vlan_tag,
    v6 = building.queue.internal_interface.vlan_tag}
  local outside
  if o.on_a_stick then
    outside = on_a_stick(building, tags, o.v4)
  else
    outside = {v4 = untagged(building, "v4", tags.v4, o.v4),
      v6 = untagged(building, "v6", tags.v6, o.v6)}
  end
  for _, family in ipairs{"v4", "v6"} do
    local way, at = ways[family], outside[family]
    config.link(building.c, ("%s -> %s"):format(at[1], building:at(way[1])))
    link_all(building, family, way[2], at[2])
  end
end

return ends
