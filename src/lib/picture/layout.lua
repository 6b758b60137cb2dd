-- SPDX-License-Identifier: Apache-2.0
-- Where all is in the picture of a graph (lib.observe.graph), in pixels: columns
-- from left to right, as packets go. Groups (a region; an app that is in none; a link
-- that passes columns by) are rectangles that never overlap: regions are boxes. Pure.

local layers = require("lib.picture.layers")

local layout = {}

-- Pixels.
local APP_HEIGHT, ROW = 46, 64
local LANE_HEIGHT, LANE_ROW = 10, 22 -- of links that pass columns by
local PADDING = 14                   -- of a region's box
local TITLE = 16                     -- above a region's apps
local GAP = 120                      -- between columns: links, with their rates
local MARGIN = 24
local SIDE = 76                      -- left and right of it: lines that lead back
local ENDS_APART = 12                -- of links at one box
local BOLD, PLAIN, LEAST_WIDTH = 8.2, 6.4, 96 -- of a name, and of the line below
local CPU = 5.8                      -- of a letter of "CPU 3", in the corner

-- The second line of an app's box.
local function title_of(app)
  local text = app.port or app.class or ""
  return #text > 28 and text:sub(1, 25) .. "..." or text
end

local function width_of(app)
  local corner = app.cpu and 2 * CPU * #("CPU " .. app.cpu) or 0
  local longest = math.max(#app.name * BOLD + corner, #title_of(app) * PLAIN)
  return math.max(LEAST_WIDTH, math.ceil(longest) + 20)
end

--- How an app is drawn: its box's width and height, and its second line.
function layout.box_of(app) return width_of(app), APP_HEIGHT, title_of(app) end

-- Groups ---------------------------------------------------------------------------

local function new_group(first, last, fields)
  fields.first, fields.last, fields.rows, fields.members = first, last, 0, {}
  return fields
end

-- The groups of apps: those of a region together.
local function groups_of_apps(apps, layer, columns)
  local groups, of_region, of_app = {}, {}, {}
  for k, column in ipairs(columns) do
    local used = {}
    for _, name in ipairs(column) do
      local region = apps[name].region
      local group = of_region[region or 0]
      if not region or not group then
        group = new_group(k, k, {region = region})
        groups[#groups + 1] = group
        if region then of_region[region] = group end
      end
      used[group] = (used[group] or 0) + 1
      group.last = layer[name]
      group.rows = math.max(group.rows, used[group])
      table.insert(group.members, {app = apps[name], row = used[group], column = k})
      of_app[name] = group
    end
    for group, n in pairs(used) do
      for _, member in ipairs(group.members) do
        if member.column == k then member.of = n end
      end
    end
  end
  return groups, of_app
end

-- A lane for a link that passes columns by, or leads back.
local function add_lanes(groups, edges, layer)
  for _, edge in ipairs(edges) do
    local from, to = layer[edge.from], layer[edge.to]
    if edge.back then
      edge.lane = new_group(to, from, {lane = true, edge = edge, rows = 1})
    elseif to > from + 1 then
      edge.lane = new_group(from + 1, to - 1, {lane = true, edge = edge, rows = 1})
    end
    if edge.lane then groups[#groups + 1] = edge.lane end
  end
end

local function height_of(group)
  if group.lane then return LANE_ROW end
  local rows = group.rows * ROW
  return group.region and rows + 2 * PADDING + TITLE or rows
end

-- Heights --------------------------------------------------------------------------

local function free(placed, group, y)
  local height = height_of(group)
  for _, other in ipairs(placed) do
    if other.first <= group.last and other.last >= group.first
        and other.y < y + height and other.y + height_of(other) > y then
      return false
    end
  end
  return true
end

-- The free place that is nearest to `wanted`.
local function find_place(placed, group, wanted)
  local best
  local function try(y)
    local distance = math.abs(y - wanted)
    if (not best or distance < math.abs(best - wanted)) and free(placed, group, y) then
      best = y
    end
  end
  try(wanted)
  for _, other in ipairs(best and {} or placed) do
    try(other.y + height_of(other))
    try(other.y - height_of(group))
  end
  return best
end

-- The middle of an app's box, of a group whose height is known.
local function middle_of(group, member)
  local top = group.y + (group.region and PADDING + TITLE or 0)
  return top + (group.rows - member.of) * ROW / 2 + (member.row - 0.5) * ROW
end

-- Where the group would best be: straight behind what leads to it.
local function wanted_place(group, edges_into, middle, lowest)
  local sum, n = 0, 0
  local function consider(edge, offset)
    local y = middle[edge.lane or edge.from] or middle[edge.from]
    if y then sum, n = sum + y - offset, n + 1 end
  end
  if group.lane then
    local y = middle[group.edge.from]
    return group.edge.back and lowest or (y or lowest) - LANE_ROW / 2
  end
  group.y = 0
  for _, member in ipairs(group.members) do
    for _, edge in ipairs(edges_into[member.app.name]) do
      if not edge.back then consider(edge, middle_of(group, member)) end
    end
  end
  return n > 0 and sum / n or 0
end

local function place_groups(groups, edges_into)
  local placed, middle, lowest = {}, {}, 0
  table.sort(groups, function (a, b)
    if (a.edge and a.edge.back or false) ~= (b.edge and b.edge.back or false) then
      return not (a.edge and a.edge.back)
    end
    if a.first ~= b.first then return a.first < b.first end
    return a.number < b.number
  end)
  for _, group in ipairs(groups) do
    group.y = find_place(placed, group,
      wanted_place(group, edges_into, middle, lowest))
    placed[#placed + 1] = group
    lowest = math.max(lowest, group.y + height_of(group))
    if group.lane then middle[group] = group.y + LANE_ROW / 2 end
    for _, member in ipairs(group.members) do
      middle[member.app.name] = middle_of(group, member)
    end
  end
  local top = 0
  for _, group in ipairs(groups) do top = math.min(top, group.y) end
  for _, group in ipairs(groups) do group.y = group.y - top end
  return lowest - top
end

-- Widths ---------------------------------------------------------------------------

-- Where each column begins, and how wide it is.
local function place_columns(columns, apps)
  local x, result = SIDE, {}
  for k, column in ipairs(columns) do
    local width = LEAST_WIDTH
    for _, name in ipairs(column) do width = math.max(width, width_of(apps[name])) end
    result[k] = {x = x, width = width}
    x = x + width + GAP
  end
  return result, x - GAP + SIDE
end

-- The picture ----------------------------------------------------------------------

local function boxes(groups, columns)
  local apps, regions = {}, {}
  for _, group in ipairs(groups) do
    local last = columns[group.last]
    for _, member in ipairs(group.members) do
      local column = columns[member.column]
      local width = width_of(member.app)
      apps[#apps + 1] = {app = member.app, title = title_of(member.app),
        width = width, height = APP_HEIGHT,
        x = column.x + (column.width - width) / 2,
        y = MARGIN + middle_of(group, member) - APP_HEIGHT / 2}
    end
    if group.region then
      local x = columns[group.first].x - PADDING
      regions[#regions + 1] = {number = group.region, x = x, y = MARGIN + group.y + 4,
        width = last.x + last.width + PADDING - x, height = height_of(group) - 8}
    end
  end
  return apps, regions
end

-- The points of a link's line: {x, y} each; the middle ones, of a lane, are straight.
local function points_of(edge, box_of, columns, spread)
  local from, to = box_of[edge.from], box_of[edge.to]
  local points = {{from.x + from.width, from.y + APP_HEIGHT / 2 + spread[edge].from}}
  if edge.lane then
    local y = MARGIN + edge.lane.y + LANE_HEIGHT
    local left, right = columns[edge.lane.first], columns[edge.lane.last]
    local a, b = {left.x, y}, {right.x + right.width, y}
    points[2], points[3] = edge.back and b or a, edge.back and a or b
  end
  points[#points + 1] = {to.x, to.y + APP_HEIGHT / 2 + spread[edge].to}
  return points
end

-- Lines that begin or end at one box do so side by side: offsets from its middle.
local function spread_ends(edges, edges_of, box_of)
  local spread = {}
  for _, edge in ipairs(edges) do spread[edge] = {} end
  for key, other in pairs{from = "to", to = "from"} do
    for _, list in pairs(edges_of[key]) do
      table.sort(list, function (a, b)
        local ya, yb = box_of[a[other]].y, box_of[b[other]].y
        if ya ~= yb then return ya < yb end
        return a.number < b.number
      end)
      local step = math.min(ENDS_APART, (APP_HEIGHT - 8) / #list)
      for i, edge in ipairs(list) do
        spread[edge][key] = (i - (#list + 1) / 2) * step
      end
    end
  end
  return spread
end

--- The picture of `graph`, as lib.observe.graph describes it: {width =, height =,
--- apps = a list of {app =, title =, x =, y =, width =, height =}, regions = a list of
--- {number =, x =, y =, width =, height =}, links = a list of {link =, points = a list
--- of {x, y}}}.
function layout.of(graph)
  local apps, nodes, edges = {}, {}, {}
  local edges_of = {from = {}, to = {}}
  for i, app in ipairs(graph.apps) do
    nodes[i] = {name = app.name, first = app.pulls}
    apps[app.name] = app
    edges_of.from[app.name], edges_of.to[app.name] = {}, {}
  end
  for i, link in ipairs(graph.links) do
    edges[i] = {from = link.from, to = link.to, link = link, number = i}
    table.insert(edges_of.from[link.from], edges[i])
    table.insert(edges_of.to[link.to], edges[i])
  end
  local layer, columns = layers.of(nodes, edges)
  local groups = groups_of_apps(apps, layer, columns)
  add_lanes(groups, edges, layer)
  for i, group in ipairs(groups) do group.number = i end
  local height = place_groups(groups, edges_of.to)
  local placed, width = place_columns(columns, apps)
  local app_boxes, region_boxes = boxes(groups, placed)
  local box_of, links = {}, {}
  for _, box in ipairs(app_boxes) do box_of[box.app.name] = box end
  local spread = spread_ends(edges, edges_of, box_of)
  for i, edge in ipairs(edges) do
    links[i] = {link = edge.link, back = edge.back,
      points = points_of(edge, box_of, placed, spread)}
  end
  return {width = width, height = height + 2 * MARGIN, apps = app_boxes,
          regions = region_boxes, links = links}
end

return layout
