-- SPDX-License-Identifier: Apache-2.0
-- Compound elements of a graph (lib.observe.graph), whose elements are called
-- COMPOUND/NAME: which there are, and the graph with some of them as one box. Pure.

local tables = require("core.lib.tables")

local fold = {}

local LEAST = 2 -- elements of a compound

--- The compounds, by name: a list of {name =, apps = names of all elements in it}.
function fold.compounds(graph)
  local of, list = {}, {}
  for _, app in ipairs(graph.apps) do
    local from = 1
    while true do
      local slash = app.name:find("/", from, true)
      if not slash then break end
      local name = app.name:sub(1, slash - 1)
      of[name] = of[name] or {name = name, apps = {}}
      table.insert(of[name].apps, app.name)
      from = slash + 1
    end
  end
  for _, compound in pairs(of) do
    if #compound.apps >= LEAST and compound.name ~= "" then
      list[#list + 1] = compound
    end
  end
  table.sort(list, function (a, b) return a.name < b.name end)
  return list
end

-- The outermost compound in the set `folded` that the app is in; or its own name.
local function shown_as(name, folded)
  local from = 1
  while true do
    local slash = name:find("/", from, true)
    if not slash then return name end
    if folded[name:sub(1, slash - 1)] then return name:sub(1, slash - 1) end
    from = slash + 1
  end
end

local function box(name, compound, by_name)
  local first = by_name[compound.apps[1]]
  local one = {name = name, members = compound.apps, cpu = first.cpu,
    region = first.region, class = ("%d elements"):format(#compound.apps)}
  for _, member in ipairs(compound.apps) do
    local app = by_name[member]
    one.pulls = one.pulls or app.pulls
    if app.region ~= one.region then one.region = nil end
    if app.cpu ~= one.cpu then one.cpu = nil end
  end
  return one
end

--- The graph with the compounds whose names are in the set `folded` as one app each,
--- which has `members`, a list of names. Links within one are left out.
function fold.of(graph, folded)
  local by_name, compound_of, done = {}, {}, {}
  for _, app in ipairs(graph.apps) do by_name[app.name] = app end
  for _, compound in ipairs(fold.compounds(graph)) do
    if folded[compound.name] then compound_of[compound.name] = compound end
  end
  local result = {apps = {}, links = {}, regions = graph.regions}
  for _, app in ipairs(graph.apps) do
    local name = shown_as(app.name, compound_of)
    if name == app.name then
      table.insert(result.apps, app)
    elseif not done[name] then
      done[name] = true
      table.insert(result.apps, box(name, compound_of[name], by_name))
    end
  end
  for _, link in ipairs(graph.links) do
    local from, to = shown_as(link.from, compound_of), shown_as(link.to, compound_of)
    if from == link.from and to == link.to then
      table.insert(result.links, link)
    elseif from ~= to then
      local copy = tables.copy(link)
      copy.from, copy.to = from, to
      table.insert(result.links, copy)
    end
  end
  return result
end

return fold
