-- SPDX-License-Identifier: Apache-2.0
-- The classes of packets that apps.rss.rss sorts into: their conditions, and the links
-- that each hands its packets out to.

local failure = require("core.failure")
local filter = require("lib.filter")
local lib = require("core.lib")

local classes = {}

local OPTIONS = {
  name = {required = true},
  filter = {required = true}, -- pcap-filter(7), or "VLAN 1 2 3 [BPF expression]"
  continue = {default = false}, -- look at the classes behind this one, too
}

-- The numbers of VLANs in "VLAN 1 2 3 [BPF expression]", and the expression.
local function vlans_of(name, text)
  local list, expression = text:match("^(.-)%s*BPF%s+(.*)$")
  local vlans = {}
  for word in (list or text):gmatch("%S+") do
    local vlan = tonumber(word:match("^%d+$"))
    if not vlan or vlan > 4095 then
      failure.usage("rss: class '%s': '%s' is no VLAN; give a number from 0 to 4095",
        name, word)
    end
    vlans[vlan] = true
  end
  return vlans, expression
end

-- A function (metadata): whether the packet is in the class.
local function condition(name, text)
  local list = text:match("^VLAN%s+(.*)$")
  local vlans, expression = nil, text
  if list then vlans, expression = vlans_of(name, list) end
  local accepts = expression and filter.compile(expression)
  return function (m)
    if vlans and not vlans[m.vlan] then return false end
    return not accepts or accepts(m.filter_start, m.filter_length)
  end
end

local function class(name, accepts, continue)
  return {name = name, accepts = accepts, continue = continue, links = {}}
end

--- The classes of the configuration, an array; the default class is the last.
function classes.new(list, with_default)
  local made, names = {}, {default = true}
  for _, options in ipairs(list) do
    local o = lib.parse(options, OPTIONS)
    if not o.name:match("^[%w_]+$") then
      failure.usage("rss: '%s' is no name of a class; it takes letters, digits and _",
        o.name)
    end
    if names[o.name] then failure.usage("rss: there are two classes '%s'", o.name) end
    names[o.name] = true
    made[#made + 1] = class(o.name, condition(o.name, o.filter), o.continue)
  end
  if with_default then
    made[#made + 1] = class("default", function () return true end, false)
  end
  return made
end

--- The class that a link called CLASS_NAME or CLASS_NAME_WEIGHT is of, and its weight.
--- Of several it's the one whose name is the longest.
function classes.of_link(made, link_name)
  local found, weight
  for _, c in ipairs(made) do
    local rest = link_name:match("^" .. c.name .. "_(.*)$")
    if rest and (not found or #c.name > #found.name) then
      found, weight = c, tonumber(rest:match("^%w+_(%d+)$") or 1)
    end
  end
  return found, weight
end

return classes
