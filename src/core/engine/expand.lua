-- SPDX-License-Identifier: Apache-2.0
-- Apps that stand for a graph of their own. A class may have
--
--   class.expand(arg, name)
--
-- which returns a part of a configuration: `apps` and `links` as in core.config; and
-- `inputs` and `outputs`, functions from the name of a link's end at the app NAME to
-- "app.port" in the part (or nil: there is none). The part takes the app's place. Names
-- of its apps begin with NAME/, or are NAME itself. Called again for the same app with
-- the same argument, expand() returns equal classes and arguments, so that nothing is
-- started anew. It is called in the Lua state that the app runs in.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local failure = require("core.failure")
local on_error = require("core.on_error")

local expand = {}

local function check_names(name, part)
  for inner in pairs(part.apps) do
    if inner ~= name and inner:sub(1, #name + 1) ~= name .. "/" then
      failure.raise("app '%s' expands to an app '%s', which isn't called %s/...", name,
        inner, name)
    end
  end
end

local function end_of(part, spec, name, direction, port)
  local place = part[direction .. "s"](port)
  if place then return place end
  failure.usage("link '%s': app '%s' has no %s '%s'", spec, name, direction, port)
end

-- Links of the app lead to, and come from, apps of its part.
local function reroute(links, name, part)
  for _, spec in ipairs(config.sorted_keys(links)) do
    local from, output, to, input = config.parse_link(spec)
    if from == name or to == name then
      local source, target = from .. "." .. output, to .. "." .. input
      if from == name then source = end_of(part, spec, name, "output", output) end
      if to == name then target = end_of(part, spec, name, "input", input) end
      links[spec] = nil
      links[config.canonical_link(source .. " -> " .. target)] = true
    end
  end
end

local function replace(c, name, part)
  check_names(name, part)
  reroute(c.links, name, part)
  local whole = c.apps[name]
  c.apps[name] = nil
  for inner, app in pairs(part.apps) do
    if c.apps[inner] then
      failure.usage("there are two apps '%s'; one is of the part '%s'", inner, name)
    end
    c.apps[inner] = on_error.inherit(app, whole)
  end
  for spec in pairs(part.links) do c.links[config.canonical_link(spec)] = true end
end

-- The parts of apps that stand for graphs, by name.
local function parts_of(c)
  local parts = {}
  for _, name in ipairs(config.sorted_keys(c.apps)) do
    local app = c.apps[name]
    if app.class.expand then parts[name] = app.class.expand(app.arg, name) end
  end
  return parts
end

--- The configuration `c`, or, where apps stand for graphs, a copy with those in their
--- place.
function expand.all(c)
  local parts = parts_of(c)
  if next(parts) == nil then return c end
  local copy = {}
  for field, value in pairs(c) do copy[field] = value end
  copy.apps, copy.links = {}, {}
  for name, app in pairs(c.apps) do copy.apps[name] = app end
  for spec in pairs(c.links) do copy.links[config.canonical_link(spec)] = true end
  for _, name in ipairs(config.sorted_keys(parts)) do
    replace(copy, name, parts[name])
  end
  return copy
end

return expand
