-- SPDX-License-Identifier: Apache-2.0
-- What names mean where they stand in a configuration: methods of the parser, whose
-- fields they use: classes (by name, of this scope and those around), plain (classes
-- that are no compounds), class_of, class_names, any_class, compound, group.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local spelling = require("core.lib.spelling")
local scanner = require("click.language.scanner")

local lookup = {}

--- The class of that name which is known here, or nil.
function lookup:find_class(name)
  local class = self.classes[name]
  if class then return class end
  if self.plain[name] == nil then
    local known = self.class_of and self.class_of(name)
    self.plain[name] = known and {kind = "plain", name = name} or false
  end
  return self.plain[name] or nil
end

local SHORTEST = 3 -- a shorter name is near to too many

-- What may be meant by a name that isn't known, on a further line.
local function suggest(self, reporter, name)
  if #name < SHORTEST then return end
  local names = {}
  local function add(list, named)
    for key, value in pairs(list) do
      if not named or value and value.kind ~= "unknown" then
        names[#names + 1] = named and key or value
      end
    end
  end
  local scope = self.classes
  while scope do
    add(scope, true)
    local outer = getmetatable(scope)
    scope = outer and outer.__index
  end
  add(self.plain, true)
  add(self.compound.by_name, true)
  add(self.class_names and self.class_names() or {})
  local meant = spelling.hint(name, names):match("is (.*) meant%?$")
  if meant then reporter:message("%s", "  did you mean " .. meant .. "?") end
end

--- The class of that name; it is an error if there is none, or it becomes known (if any
--- class is allowed).
function lookup:force_class(name, token)
  local class = self:find_class(name)
  if class then return class end
  local reporter = self.errors:at(scanner.landmark(token))
  if self.any_class then
    if self:find_element(name) then
      reporter:error("'%s' was previously used as an element name", name)
    end
    self.plain[name] = {kind = "plain", name = name}
    return self.plain[name]
  end
  reporter:error("unknown element class '%s'", name)
  suggest(self, reporter, name)
  self.classes[name] = {kind = "unknown", name = name}
  return self.classes[name]
end

--- The class for an item without a class whose name no element has: it is reported
--- once.
function lookup:undeclared(item)
  if self.any_class then
    self.plain[item.name] = {kind = "plain", name = item.name}
    return self.plain[item.name]
  end
  local reporter = self.errors:at(item.landmark)
  reporter:error("undeclared element '%s'", item.name)
  suggest(self, reporter, item.name)
  self.classes[item.name] = {kind = "unknown", name = item.name}
  return self.classes[item.name]
end

--- The element of that name here, or nil; `input` and `output` are the group's.
function lookup:find_element(name)
  local group = self.group
  if group and name == "input" then return group.entry end
  if group and name == "output" then return group.exit end
  return self.compound.by_name[name]
end

return lookup
