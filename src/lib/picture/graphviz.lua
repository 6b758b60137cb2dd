-- SPDX-License-Identifier: Apache-2.0
-- Where all is in the picture of a graph, by Graphviz's program dot: what it is given,
-- and what it answers, as lib.picture.layout has it. Only numbers of ours are given to
-- it, no names. Pure.

local cjson = require("cjson")
local layout = require("lib.picture.layout")

local graphviz = {}

local POINTS = 72   -- in an inch; a point is drawn as a pixel
local MARGIN = 24   -- around the picture, pixels
local NEAR = 0.3    -- of a curve: where its output's name stands
local HEADING = 16  -- above a region's apps

local ACROSS = {"rankdir=LR; nodesep=0.32; ranksep=0.62;", "tailport=e, headport=w"}
local DOWN = {"rankdir=TB; nodesep=0.25; ranksep=0.55;", "tailport=s, headport=n"}

--- The graph (lib.observe.graph) for `dot -Tjson0`: apps are n1, n2, ..., in the order
--- of graph.apps, links have their number as id, regions are clusters. Packets go from
--- left to right, or `down`.
function graphviz.source(graph, down)
  local ranks, ports = unpack(down and DOWN or ACROSS)
  local lines = {"digraph g {", ranks .. " splines=true;",
    'node [shape=box, fixedsize=true, label=""];', ("edge [%s];"):format(ports)}
  local number_of, of_region = {}, {}
  for i, app in ipairs(graph.apps) do
    number_of[app.name] = i
    local width, height = layout.box_of(app)
    lines[#lines + 1] = ("n%d [width=%.3f, height=%.3f];"):format(i, width / POINTS,
      height / POINTS)
    if app.region then
      of_region[app.region] = of_region[app.region] or {}
      table.insert(of_region[app.region], ("n%d;"):format(i))
    end
  end
  for region = 1, #graph.regions do
    if of_region[region] then
      lines[#lines + 1] = ('subgraph cluster_%d { margin=16; label=" "; %s }'):format(
        region, table.concat(of_region[region], " "))
    end
  end
  for i, link in ipairs(graph.links) do
    lines[#lines + 1] = ('n%d -> n%d [id="%d"];'):format(number_of[link.from],
      number_of[link.to], i)
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

local function numbers(text, count)
  local list = {}
  for n in tostring(text or ""):gmatch("[%d.eE+-]+") do
    list[#list + 1] = tonumber(n)
  end
  return #list >= count and list or nil
end

local function at(p, t) -- of a cubic curve
  local u = 1 - t
  local point = {}
  for i = 1, 2 do
    point[i] = u ^ 3 * p[1][i] + 3 * u * u * t * p[2][i] + 3 * u * t * t * p[3][i]
      + t ^ 3 * p[4][i]
  end
  return point
end

-- A spline (Graphviz's splineType: "e,X,Y X,Y ...", the end first) as a path of SVG,
-- its first and last point, its middle, and where its output's name stands; nil if it
-- is none.
local function curve(text, place)
  local list, last = {}, nil
  local one = "([es]?),?([%d.e+-]+),([%d.e+-]+)"
  for kind, x, y in tostring(text or ""):gmatch(one) do
    local px, py = place(tonumber(x) or 0, tonumber(y) or 0)
    if kind == "e" then
      last = {px, py}
    elseif kind == "" then
      list[#list + 1] = {px, py}
    end
  end
  if #list < 4 or #list % 3 ~= 1 then return nil end
  local parts = {("M%.1f,%.1f"):format(unpack(list[1]))}
  for i = 2, #list, 3 do
    parts[#parts + 1] = ("C%.1f,%.1f %.1f,%.1f %.1f,%.1f"):format(list[i][1],
      list[i][2], list[i + 1][1], list[i + 1][2], list[i + 2][1], list[i + 2][2])
  end
  if last then parts[#parts + 1] = ("L%.1f,%.1f"):format(unpack(last)) end
  local half = math.floor((#list - 1) / 6) * 3 + 1 -- where a piece begins
  return table.concat(parts, " "), {list[1], last or list[#list]},
    at({unpack(list, half, half + 3)}, 0.5),
    at({unpack(list, 1, 4)}, #list == 4 and NEAR or 2 * NEAR)
end

local function read_boxes(picture, graph, objects, place)
  for _, object in ipairs(objects) do
    local app = graph.apps[tonumber(tostring(object.name or ""):match("^n(%d+)$"))]
    local region = tonumber(tostring(object.name or ""):match("^cluster_(%d+)$"))
    local middle = numbers(object.pos, 2)
    local bb = numbers(object.bb, 4)
    if app and middle then
      local width, height, title = layout.box_of(app)
      local x, y = place(middle[1], middle[2])
      picture.apps[#picture.apps + 1] = {app = app, title = title, width = width,
        height = height, x = x - width / 2, y = y - height / 2}
    elseif region and bb then
      local x, y = place(bb[1], bb[4])
      table.insert(picture.regions, {number = region, x = x, y = y,
        width = bb[3] - bb[1], height = bb[4] - bb[2]})
    end
  end
end

--- The picture (as of lib.picture.layout) by dot's answer `text`, in which packets go
--- `down` or across; nil if that isn't one of this graph with all its apps and links.
function graphviz.read(graph, text, down)
  local ok, answer = pcall(cjson.decode, text)
  local bb = ok and type(answer) == "table" and numbers(answer.bb, 4)
  if not bb then return nil end
  local function place(x, y) return x + MARGIN, bb[4] - y + MARGIN + HEADING end
  local picture = {down = down, width = bb[3] + 2 * MARGIN,
    height = bb[4] + 2 * MARGIN + HEADING, apps = {}, regions = {}, links = {}}
  read_boxes(picture, graph, answer.objects or {}, place)
  for _, edge in ipairs(answer.edges or {}) do
    local link = graph.links[tonumber(edge.id)]
    local path, points, middle, near = curve(edge.pos, place)
    if not (link and path) then return nil end
    picture.links[#picture.links + 1] = {link = link, path = path, points = points,
      middle = middle, near = near}
  end
  local whole = #picture.apps == #graph.apps and #picture.links == #graph.links
  return whole and picture or nil
end

return graphviz
