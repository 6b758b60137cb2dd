-- SPDX-License-Identifier: Apache-2.0
-- What an app's functions but push() do with its links: if one of them may receive or
-- send, then push() alone doesn't say what becomes of the packets.

local assignments = require("core.lift.assignments")
local link = require("core.link")
local plain = require("core.lift.plain")
local aliasing = require("core.lift.aliasing")
local syntax = require("core.lift.syntax")

local methods = {}

local stats = link.stats -- as it was: a program may put another in its place

-- Called before packets come, after the last, or only to look.
local APART = {new = true, link = true, unlink = true, stop = true, report = true,
               selftest = true, push = true, begin = true}

-- The tables that the app's fields are found in; nil if one is a function.
local function chain(app)
  local tables, at = {}, app
  while type(at) == "table" do
    for _, seen in ipairs(tables) do
      if seen == at then return tables end
    end
    tables[#tables + 1] = at
    at = (getmetatable(at) or {}).__index
  end
  return at == nil and tables or nil
end

-- What the function does with links, or lets others do: "uses links in line 5"; nil if
-- it has no field `input` or `output`, but to ask for the counters of a link, and gives
-- its first parameter, which may be the app, to nobody.
local function deed(f, tree)
  local app, held, found = tree[1][1] and tree[1][1][1], {}, nil
  local function note(what, node)
    found = found or ("%s in line %d"):format(what, node.line)
  end
  syntax.walk(tree[2], function (node)
    local base, key = node[1], node[2]
    if node.tag == "Call" and syntax.value(f, base, {}) == stats then
      return false
    end
    if node.tag == "Index" and key.tag == "String"
        and (key[1] == "input" or key[1] == "output") then
      note("uses links", node)
    end
    if node.tag == "Index" or node.tag == "Invoke" then held[base] = true end
    if node.tag == "Id" and node[1] == app and not held[node] then
      note("passes on what it is given first", node)
    end
  end)
  return found
end

-- The names of the methods that the tree calls, as in o:NAME(); a set.
local function invoked(tree)
  local set = {}
  syntax.walk(tree, function (node)
    if node.tag == "Invoke" then set[node[2][1]] = true end
  end)
  return set
end

local function always() return true end -- methods may be called before the loop

-- By function: {why = text or nil, assigned = set, invoked = set, uses = what
-- sharing.uses says}.
local known = setmetatable({}, {__mode = "k"})

local function look_at(f)
  local found = known[f]
  if found then return found end
  found = {assigned = {}, invoked = {}}
  local tree, why = syntax.of(f)
  if tree then
    found.why = deed(f, tree.node)
    assignments.add(tree.node, found.assigned)
    found.invoked = invoked(tree.node)
    local first = tree.node[1][1]
    found.uses = aliasing.uses(f, tree.node, first and first[1], always)
  else
    found.why = why
  end
  known[f] = found
  return found
end

-- A function in a field of the app itself that isn't given the app.
local function is_own_value(app, name, f)
  return rawget(app, name) == f and plain.is(f)
end

--- The functions of the app, but push() and those that aren't called as packets flow,
--- which don't deal with links: a set; and the set of the names of fields that they
--- assign ("*": any); and what they use (core.lift.aliasing), a list. Or nil and why
--- one may.
function methods.of(app)
  local tables = chain(app)
  if not tables then return nil, "its class finds methods by a function" end
  local set, assigned, values, called, uses = {}, {}, {}, {}, {}
  for _, t in ipairs(tables) do
    for name, f in pairs(t) do
      local info = type(f) == "function" and not APART[name] and debug.getinfo(f, "S")
      if info and info.what ~= "C" then
        local found = look_at(f)
        if not found.why then
          set[f], uses[#uses + 1] = true, found.uses
        elseif is_own_value(app, name, f) then
          values[name] = true
        else
          return nil, ("its %s() %s"):format(name, found.why)
        end
        for field in pairs(found.assigned) do assigned[field] = true end
        for method in pairs(found.invoked) do called[method] = true end
      end
    end
  end
  for name in pairs(values) do
    if called[name] then return nil, ("it calls %s(), whose source isn't known"):format(
      name) end
  end
  return set, assigned, uses
end

return methods
