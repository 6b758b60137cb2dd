-- SPDX-License-Identifier: Apache-2.0
-- What an app that does something before its loop shares with others: variables and
-- fields of tables which one of them changes. In a region all have done it before the
-- first packet comes, so such an app would see, or let others see, something else.

local syntax = require("core.lift.syntax")

local aliasing = {}

local DECLARING = {Local = true, Localrec = true, Forin = true, Function = true}
local MOST_NAMES = 8 -- that stand for each other

-- The names that the tree declares, and what those stand for that are given another
-- name's value, or a field's: a node by name.
local function names_in(tree)
  local declared, stands_for = {}, {}
  syntax.walk(tree, function (node)
    if node.tag == "Fornum" then declared[node[1][1]] = true end
    if not DECLARING[node.tag] then return end
    for i, id in ipairs(node[1]) do
      local value = node.tag == "Local" and (node[2] or {})[i]
      if id.tag == "Id" then
        declared[id[1]] = true
        if value and (value.tag == "Index" or value.tag == "Id") then
          stands_for[id[1]] = value
        end
      end
    end
  end)
  return declared, stands_for
end

--- What the function `f` uses, whose tree that is, in which the app is called `self`:
--- {f =, self =, declared =, stands_for =, used = a list of {node =, written =, before
--- = is_before(node)}}.
function aliasing.uses(f, tree, self, is_before)
  local uses = {f = f, self = self, used = {}}
  uses.declared, uses.stands_for = names_in(tree)
  local function note(node, written)
    table.insert(uses.used, {node = node, written = written, before = is_before(node)})
  end
  syntax.walk(tree[2], function (node)
    for _, target in ipairs(node.tag == "Set" and node[1] or {}) do
      note(target, true)
    end
    if node.tag == "Id" or node.tag == "Index" then note(node, false) end
  end)
  return uses
end

-- What the expression stands for in a function of the app; nil if that isn't known.
local function value_of(app, uses, node, names)
  if node.tag == "Id" then
    local name = node[1]
    if name == uses.self then return app end
    local other = uses.stands_for[name]
    if other and names > 0 and not (other.tag == "Id" and other[1] == name) then
      return value_of(app, uses, other, names - 1)
    end
    if not uses.declared[name] then return syntax.value(uses.f, node, {}) end
  elseif node.tag == "Index" and node[2].tag == "String" then
    local base = value_of(app, uses, node[1], names)
    if type(base) == "table" then return syntax.field(base, node[2][1]) end
  end
end

-- Where the variable or field is: what it is part of, and its name; nil for those of
-- one call, and those of the app itself.
local function place_of(app, uses, node)
  if node.tag == "Index" then
    local base = value_of(app, uses, node[1], MOST_NAMES)
    if type(base) ~= "table" or base == app then return nil end
    return base, node[2].tag == "String" and node[2][1] or "[]"
  end
  local name = node[1]
  if uses.declared[name] or name == uses.self then return nil end
  for i, upvalue in ipairs(syntax.upvalues(uses.f)) do
    if upvalue == name then return debug.upvalueid(uses.f, i), "" end
  end
  return getfenv(uses.f), name
end

--- The places that the app's functions use (sharing.uses, a list): {[TABLE or upvalue]
--- = {[NAME] = {written =, before =}}}.
function aliasing.places(app, functions)
  local places = {}
  for _, uses in ipairs(functions) do
    for _, use in ipairs(uses.used) do
      local base, name = place_of(app, uses, use.node)
      if base then
        places[base] = places[base] or {}
        local place = places[base][name] or {}
        places[base][name] = place
        place.written = place.written or use.written
        place.before = place.before or use.before
      end
    end
  end
  return places
end

--- Of apps and what they use, {[APP] = places}: the set of those that use something
--- before their loop which another uses, too, and one of them changes.
function aliasing.found(places_of)
  local users, found = {}, {}
  for app, places in pairs(places_of) do
    for base, names in pairs(places) do
      users[base] = users[base] or {}
      for name, place in pairs(names) do
        local all = users[base][name] or {n = 0, before = {}}
        users[base][name] = all
        all.n, all.written = all.n + 1, all.written or place.written
        if place.before then all.before[app] = true end
      end
    end
  end
  for _, names in pairs(users) do
    for _, all in pairs(names) do
      for app in pairs(all.n > 1 and all.written and all.before or {}) do
        found[app] = true
      end
    end
  end
  return found
end

return aliasing
