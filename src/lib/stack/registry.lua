-- SPDX-License-Identifier: Apache-2.0
-- All protocols: those of proto/, read when this module is loaded, and those that
-- programs define. What follows what is told by the upper protocol (`over`).

local dirent = require("posix.dirent")
local protocol = require("lib.stack.protocol")

local registry = {}

local by_name = {}
local above = {} -- lower protocol -> value -> names of those it may announce
local OTHER_NAMES = {ethernet = "eth", ipv4 = "ip4", ipv6 = "ip6"}

local function over_of(def, lower)
  local values = def.over and def.over[lower]
  if type(values) == "table" then return values end
  return {values}
end

--- Add the protocol that the table defines (see doc/stack.md). Raises a sentence if
--- the definition is wrong, or its name taken.
function registry.define(def)
  local new = protocol.new(def)
  if by_name[new.name] then
    error(("there is already a protocol '%s'"):format(new.name), 0)
  end
  by_name[new.name] = new
  for lower in pairs(def.over or {}) do
    above[lower] = above[lower] or {}
    for _, value in ipairs(over_of(def, lower)) do
      local names = above[lower][value] or {}
      above[lower][value] = names
      names[#names + 1] = new.name
      table.sort(names)
    end
  end
  return new
end

--- Forget a protocol, for specs: stacks made of it stay.
function registry.remove(name)
  for _, values in pairs(above) do
    for value, names in pairs(values) do
      for i = #names, 1, -1 do
        if names[i] == name then table.remove(names, i) end
      end
      if #names == 0 then values[value] = nil end
    end
  end
  by_name[name] = nil
end

--- The protocol of that name (or a usual other name of it), or nil.
function registry.find(name)
  return by_name[name] or by_name[OTHER_NAMES[name]]
end

--- The names of all protocols, sorted.
function registry.protocols()
  local names = {}
  for name in pairs(by_name) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The values by which protocol `lower` announces protocol `upper`, the usual one
--- first; an empty list if it can't.
function registry.values(lower, upper)
  return over_of(by_name[upper].def, lower)
end

--- The names of the protocols that `lower` announces with `value`; nil if none.
function registry.announced(lower, value)
  return above[lower] and above[lower][value]
end

--- What may follow the protocol `lower`: a sorted list of {value, name}.
function registry.followers(lower)
  local list = {}
  for value, names in pairs(above[lower] or {}) do
    for _, name in ipairs(names) do list[#list + 1] = {value, name} end
  end
  table.sort(list, function (a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return list
end

-- ---- proto/*/*.lua ----

local here = debug.getinfo(1, "S").source:match("^@(.*)registry%.lua$")
local modules = {}
for folder in dirent.files(here .. "proto") do
  if not folder:find(".", 1, true) then
    for file in dirent.files(here .. "proto/" .. folder) do
      local name = file:match("^([%w_]+)%.lua$")
      if name and not name:match("_spec$") then
        modules[#modules + 1] = ("lib.stack.proto.%s.%s"):format(folder, name)
      end
    end
  end
end
table.sort(modules, function (a, b) return a:match("%w+$") < b:match("%w+$") end)
for _, name in ipairs(modules) do registry.define(require(name)) end

return registry
