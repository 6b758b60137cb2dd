-- SPDX-License-Identifier: Apache-2.0
-- The picture of a graph (lib.observe.graph) in Graphviz's language: regions are
-- frames, and so are the CPUs that apps are placed on. Pure.

local dot = {}

local function escaped(text)
  return (tostring(text):gsub('[\\"]', "\\%0"):gsub("[%c\127]", "?"))
end

local function quoted(text) return '"' .. escaped(text) .. '"' end

local function node(app)
  local title = app.port or app.class
  return ('%s [label="%s%s"];'):format(quoted(app.name), escaped(app.name),
    title and "\\n" .. escaped(title) or "")
end

-- Lines in a frame.
local function frame(lines, name, label, write)
  lines[#lines + 1] = ("  subgraph %s {\n  label=%s;"):format(
    quoted("cluster_" .. name), quoted(label))
  write()
  lines[#lines + 1] = "  }"
end

local function write_apps(lines, graph, cpu)
  for _, app in ipairs(graph.apps) do
    if app.cpu == cpu and not app.region then lines[#lines + 1] = "  " .. node(app) end
  end
  local by_region = {}
  for _, app in ipairs(graph.apps) do
    if app.region and app.cpu == cpu then
      by_region[app.region] = by_region[app.region] or {}
      table.insert(by_region[app.region], app)
    end
  end
  for number, region in ipairs(graph.regions) do
    if by_region[number] then
      frame(lines, "region_" .. region.number, "region " .. region.number, function ()
        for _, app in ipairs(by_region[number]) do
          lines[#lines + 1] = "  " .. node(app)
        end
      end)
    end
  end
end

local function cpus_of(graph)
  local list, seen = {}, {}
  for _, app in ipairs(graph.apps) do
    if app.cpu and not seen[app.cpu] then
      list[#list + 1], seen[app.cpu] = app.cpu, true
    end
  end
  table.sort(list)
  return list
end

--- The picture of `graph` (lib.observe.graph.describe) as text.
function dot.text(graph)
  local lines = {"digraph perigee {", "  rankdir=LR;",
    "  node [shape=box, fontname=sans, fontsize=10];",
    "  edge [fontname=sans, fontsize=8];"}
  write_apps(lines, graph, nil)
  for _, cpu in ipairs(cpus_of(graph)) do
    frame(lines, "cpu_" .. cpu, "CPU " .. cpu, function ()
      write_apps(lines, graph, cpu)
    end)
  end
  for _, link in ipairs(graph.links) do
    lines[#lines + 1] = ("  %s -> %s [taillabel=%s, headlabel=%s];"):format(
      quoted(link.from), quoted(link.to),
      quoted(link.output ~= "output" and link.output or ""),
      quoted(link.input ~= "input" and link.input or ""))
  end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n") .. "\n"
end

return dot
