-- SPDX-License-Identifier: Apache-2.0
-- All protocols: those of proto/, read when this module is loaded, and those that
-- programs define. What follows what is declared by the upper protocol (`over`).

local dirent = require("posix.dirent")
local definition = require("lib.stack.definition")
local spelling = require("core.lib.spelling")
local protocol = require("lib.stack.protocol")
local tables = require("core.lib.tables")

local registry = {}

local by_name = {}
local above = {}  -- lower protocol -> value -> names of those it may announce
local values = {} -- lower protocol -> upper one -> the values that announce it
local OTHER_NAMES = {ethernet = "eth", ipv4 = "ip4", ipv6 = "ip6"}
local fault = definition.fault

local function as_list(given)
  return type(given) == "table" and given or {given}
end

-- Which value announces what, by the definition: a list of {lower, value, upper}.
local function announcements(def)
  local list = {}
  for lower, given in pairs(def.over or {}) do
    for _, value in ipairs(as_list(given)) do
      list[#list + 1] = {lower, value, def.name}
    end
  end
  local own = type(def.next) == "table" and def.next.values or {}
  for _, value in ipairs(tables.sorted_keys(own)) do
    list[#list + 1] = {def.name, value, own[value]}
  end
  return list
end

local function announce(lower, value, upper)
  above[lower], values[lower] = above[lower] or {}, values[lower] or {}
  local names, numbers = above[lower][value] or {}, values[lower][upper] or {}
  above[lower][value], values[lower][upper] = names, numbers
  names[#names + 1], numbers[#numbers + 1] = upper, value
  table.sort(names)
end

local function check_known(name, key, other)
  if by_name[other] then return end
  fault(name, "`%s` names protocol '%s', which there isn't%s", key, tostring(other),
    spelling.hint(tostring(other), registry.protocols()))
end

-- The field of `lower` whose value says what follows it. Raises a sentence.
local function selector(name, lower)
  local next = by_name[lower].default.next
  if type(next) ~= "table" then
    fault(name, "`over` names %s, which has no field that says what follows", lower)
  elseif next.as then
    fault(name, "`over` names %s, whose numbers are those of %s: say over = {%s = ...}",
      lower, next.as, next.as)
  end
  return by_name[lower].default.by_name[next.field or next.fields[1]]
end

local function check_value(name, field, lower, value)
  local most = 2 ^ field.bits - 1
  if type(value) ~= "number" or value % 1 ~= 0 or value < 0 or value > most then
    fault(name, "%s of %s is a number from 0 to %.0f, not '%s'", field.name, lower,
      most, tostring(value))
  end
end

-- Two protocols may share a value if `when` tells one of them by its own bytes.
local function check_taken(name, field, lower, value, upper)
  if by_name[upper].claims then return end
  for _, other in ipairs(above[lower] and above[lower][value] or {}) do
    if other ~= upper and not by_name[other].claims then
      fault(name, "%s %s of %s is taken by %s", field.name, tostring(value), lower,
        other)
    end
  end
end

-- Does what the definition says of other protocols hold?
local function check_others(def)
  local name, next = def.name, def.next
  if type(next) == "string" then check_known(name, "next", next) end
  if type(next) == "table" and next.as then check_known(name, "next", next.as) end
  for _, entry in ipairs(announcements(def)) do
    local lower, value, upper = unpack(entry)
    check_known(name, lower == name and "next" or "over",
      lower == name and upper or lower)
    local field = selector(name, lower)
    check_value(name, field, lower, value)
    check_taken(name, field, lower, value, upper)
  end
  for lower, labels in pairs(def.below or {}) do
    check_known(name, "below", lower)
    for label in pairs(labels) do
      if not by_name[lower].default.by_name[label] then
        fault(name, "`below` names field %s, which %s doesn't have", tostring(label),
          lower)
      end
    end
  end
end

local function add(def)
  local new = protocol.new(def)
  if registry.find(new.name) then
    error(("there is already a protocol '%s'"):format(new.name), 0)
  end
  by_name[new.name] = new
  return new
end

local function announce_all(def)
  for _, entry in ipairs(announcements(def)) do announce(unpack(entry)) end
end

--- Add the protocol that the table defines (see doc/stack.md). Raises a sentence if
--- the definition is wrong, or its name taken.
function registry.define(def)
  local new = add(def)
  local ok, sentence = pcall(check_others, def)
  if not ok then
    by_name[new.name] = nil
    error(sentence, 0)
  end
  announce_all(def)
  return new
end

--- Forget a protocol, for specs: stacks made of it stay.
function registry.remove(name)
  above[name], values[name] = nil, nil
  for lower, by_value in pairs(above) do
    for value, names in pairs(by_value) do
      for i = #names, 1, -1 do
        if names[i] == name then table.remove(names, i) end
      end
      if #names == 0 then by_value[value] = nil end
    end
    values[lower][name] = nil
  end
  by_name[name] = nil
end

--- The protocol of that name (or a usual other name of it), or nil.
function registry.find(name)
  return by_name[name] or by_name[OTHER_NAMES[name]]
end

--- The names of all protocols, sorted.
function registry.protocols()
  return tables.sorted_keys(by_name)
end

--- The values by which protocol `lower` announces protocol `upper`, the usual one
--- first; an empty list if it can't.
function registry.values(lower, upper)
  return values[lower] and values[lower][upper] or {}
end

--- The names of the protocols that can announce `upper`, sorted.
function registry.lowers(upper)
  local names = {}
  for lower, numbers in pairs(values) do
    if numbers[upper] then names[#names + 1] = lower end
  end
  table.sort(names)
  return names
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
-- They name one another, so that they are looked over when all are there.
local definitions = {}
for i, name in ipairs(modules) do
  definitions[i] = require(name)
  add(definitions[i])
end
for _, def in ipairs(definitions) do announce_all(def) end
for _, def in ipairs(definitions) do check_others(def) end

return registry
