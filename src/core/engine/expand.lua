-- SPDX-License-Identifier: Apache-2.0
-- Apps that stand for a graph of their own. A class may have
--
--   class.expand(arg, name)
--
-- which returns a part of a configuration: `apps` and `links` as in core.config; and
-- `inputs` and `outputs`, functions from the name of a link's end at the app NAME to
-- "app.port" in the part (or nil: there is none). The part replaces the app. Names
-- of its apps begin with NAME/, or are NAME itself. Called again for the same app with
-- the same argument, expand() returns equal classes and arguments, so that nothing is
-- started again. It is called in the Lua state that the app runs in.
--
-- Apps that share what only one can have, such as a card, may stand for a graph
-- together. Their classes have
--
--   class.shares(arg)              what the app shares: a name, or nil
--   class.expand_together(apps, what)
--
-- of which the second is the same function. It is called for all apps that share the
-- same, a list of {name =, arg =, class =} sorted by name, and returns nil if they may
-- stay as they are, or a part: `inputs` and `outputs` are functions of the link's end
-- and the app's name. Names of its apps are those of the list, or begin with one of
-- them and /, or with WHAT/.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local failure = require("core.failure")
local on_error = require("core.on_error")
local tables = require("core.lib.tables")

local expand = {}

local function check_name(inner, members, prefix)
  if members[inner] or inner:sub(1, #prefix + 1) == prefix .. "/" then return end
  for name in pairs(members) do
    if inner:sub(1, #name + 1) == name .. "/" then return end
  end
  failure.raise("app '%s' expands to an app '%s', which isn't called %s/...",
    next(members), inner, prefix)
end

local function end_of(part, spec, name, direction, port)
  local place = part[direction .. "s"](port, name)
  if place then return place end
  failure.usage("link '%s': app '%s' has no %s '%s'", spec, name, direction, port)
end

-- Links of the apps of the set `members` lead to, and come from, apps of their part.
local function reroute(links, members, part)
  for _, spec in ipairs(config.sorted_keys(links)) do
    local from, output, to, input = config.parse_link(spec)
    if members[from] or members[to] then
      local source, target = from .. "." .. output, to .. "." .. input
      if members[from] then source = end_of(part, spec, from, "output", output) end
      if members[to] then target = end_of(part, spec, to, "input", input) end
      links[spec] = nil
      links[config.canonical_link(source .. " -> " .. target)] = true
    end
  end
end

-- `e`: {part =, members = a set of names, prefix =}.
local function replace(c, e)
  reroute(c.links, e.members, e.part)
  local whole = {}
  for name in pairs(e.members) do whole[name], c.apps[name] = c.apps[name], nil end
  local any = whole[config.sorted_keys(whole)[1]]
  for inner, app in pairs(e.part.apps) do
    check_name(inner, e.members, e.prefix)
    if c.apps[inner] then
      failure.usage("there are two apps '%s'; one is of the part '%s'", inner, e.prefix)
    end
    c.apps[inner] = on_error.inherit(app, whole[inner] or any)
  end
  for spec in pairs(e.part.links) do c.links[config.canonical_link(spec)] = true end
end

-- Apps that share something, by that and by who knows what becomes of them: lists of
-- {apps =, what =, together =}.
local function sharing(c)
  local list, by = {}, {}
  for _, name in ipairs(config.sorted_keys(c.apps)) do
    local app = c.apps[name]
    local together = app.class.expand_together
    local what = together and app.class.shares(app.arg)
    if what then
      by[together] = by[together] or {}
      local shared = by[together][what]
      if not shared then
        shared = {apps = {}, what = what, together = together}
        by[together][what], list[#list + 1] = shared, shared
      end
      table.insert(shared.apps, {name = name, arg = app.arg, class = app.class})
    end
  end
  return list
end

-- What apps stand for: a list, as replace() takes it.
local function parts_of(c)
  local list = {}
  for _, name in ipairs(config.sorted_keys(c.apps)) do
    local app = c.apps[name]
    if app.class.expand then
      list[#list + 1] = {part = app.class.expand(app.arg, name), prefix = name,
        members = {[name] = true}}
    end
  end
  for _, shared in ipairs(sharing(c)) do
    local part, members = shared.together(shared.apps, shared.what), {}
    for _, app in ipairs(shared.apps) do members[app.name] = true end
    if part then
      list[#list + 1] = {part = part, prefix = shared.what, members = members}
    end
  end
  return list
end

--- The configuration `c`, or, where apps stand for graphs, a copy with those in their
--- place.
function expand.all(c)
  local parts = parts_of(c)
  if #parts == 0 then return c end
  local copy = tables.copy(c)
  copy.apps, copy.links = tables.copy(c.apps), {}
  for spec in pairs(c.links) do copy.links[config.canonical_link(spec)] = true end
  for _, part in ipairs(parts) do replace(copy, part) end
  return copy
end

return expand
