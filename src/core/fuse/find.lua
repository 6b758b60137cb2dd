-- SPDX-License-Identifier: Apache-2.0
-- Which apps are fused: the largest connected groups of per-packet apps (those
-- with process(p)), cut where links would make a loop. Pure: works on names.

local config = require("core.config")
local graph = require("core.depth_first")

local regions = {}

local sorted_keys = config.sorted_keys

--- Why the app can't be part of a region, or nil if it can.
function regions.reason(app)
  if app.process_burst then return "it is a bulk app (process_burst)" end
  if app.emits then return "it emits packets" end
  if not app.process then return "it has no process()" end
  if app.pull or app.push then return "it has pull() or push() beside process()" end
  if app.push_link then return "it has push_link" end
end

-- The links among fusible apps, and for each app those that leave it.
local function inner_links(fusible, links)
  local leaving = {}
  for name in pairs(fusible) do leaving[name] = {} end
  for _, spec in ipairs(sorted_keys(links)) do
    local from, output, to = config.parse_link(spec)
    if fusible[from] and fusible[to] then
      table.insert(leaving[from], {spec = spec, to = to, output = output})
    end
  end
  return leaving
end

-- The apps in topological order, and the set of links that close a loop.
local function sort(fusible, leaving)
  local successors, closing = {}, {}
  for name in pairs(fusible) do
    successors[name] = {}
    for i, edge in ipairs(leaving[name]) do successors[name][i] = edge.to end
  end
  local order, place = graph.sort(sorted_keys(fusible), successors)
  for name in pairs(fusible) do
    for _, edge in ipairs(leaving[name]) do
      if place[edge.to] <= place[name] then closing[edge.spec] = true end
    end
  end
  return order, closing
end

-- For each app the name that stands for its connected group.
local function groups(fusible, leaving, closing)
  local parent = {}
  local function root(name)
    while parent[name] do name = parent[name] end
    return name
  end
  for name in pairs(fusible) do
    for _, edge in ipairs(leaving[name]) do
      local a, b = root(name), root(edge.to)
      if not closing[edge.spec] and a ~= b then parent[a] = b end
    end
  end
  return root
end

-- LuaJIT compiles a loop as one trace: a path of more apps than this is cut.
local MOST_APPS = 128

--- The regions of the graph of `apps` and `links` (tables by name and by text):
--- a list of {apps = names in topological order, inner = set of fused links,
--- entries, exits = lists of links in and out, looped = whether an entry closes a
--- loop}. Also a table from each app that
--- is in none to the reason.
function regions.find(apps, links)
  local fusible, reasons = {}, {}
  for name, app in pairs(apps) do
    reasons[name] = regions.reason(app)
    if not reasons[name] then fusible[name] = true end
  end
  local leaving = inner_links(fusible, links)
  local order, closing = sort(fusible, leaving)
  local root = groups(fusible, leaving, closing)
  local list, latest, of = {}, {}, {}
  for _, name in ipairs(order) do
    local key = root(name)
    local region = latest[key]
    if not region or #region.apps == MOST_APPS then
      region = {apps = {}, inner = {}, entries = {}, exits = {}}
      latest[key], list[#list + 1] = region, region
    end
    table.insert(region.apps, name)
    of[name] = region
  end
  for _, spec in ipairs(sorted_keys(links)) do
    local from, _, to = config.parse_link(spec)
    local a, b = of[from], of[to]
    if a and a == b and not closing[spec] then
      a.inner[spec] = true
    else
      if a then table.insert(a.exits, spec) end
      if b then table.insert(b.entries, spec) end
      if b and closing[spec] then b.looped = true end
    end
  end
  return list, reasons
end

return regions
