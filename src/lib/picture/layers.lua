-- SPDX-License-Identifier: Apache-2.0
-- The first half of a layered picture of a graph (K. Sugiyama, S. Tagawa, M. Toda,
-- 1981): in which column each node stands, and in which order those of a column. Pure.

local layers = {}

local SWEEPS = 4 -- over all columns, there and back

-- The nodes in the order in which a search meets them, and the edges that close loops:
-- {[EDGE] = true}. It begins where packets come in.
local function search(nodes, out_of)
  local order, backs, state = {}, {}, {}
  local function visit(name)
    local way = {{name = name, at = 1}}
    state[name] = "open"
    while #way > 0 do
      local top = way[#way]
      local edge = out_of[top.name][top.at]
      top.at = top.at + 1
      if not edge then
        state[top.name] = "done"
        order[#order + 1] = top.name
        way[#way] = nil
      elseif state[edge.to] == "open" then
        backs[edge] = true
      elseif not state[edge.to] then
        state[edge.to] = "open"
        way[#way + 1] = {name = edge.to, at = 1}
      end
    end
  end
  for _, node in ipairs(nodes) do
    if not state[node.name] then visit(node.name) end
  end
  return order, backs
end

local function adjacency(nodes, edges)
  local out_of, into = {}, {}
  for _, node in ipairs(nodes) do out_of[node.name], into[node.name] = {}, {} end
  for _, edge in ipairs(edges) do
    table.insert(out_of[edge.from], edge)
    table.insert(into[edge.to], edge)
  end
  return out_of, into
end

-- Sources first, then where packets come in, then the others.
local function by_rank(nodes, into)
  local ranked = {}
  for i, node in ipairs(nodes) do
    local rank = #into[node.name] == 0 and 1 or node.first and 2 or 3
    ranked[i] = {rank = rank, place = i, node = node}
  end
  table.sort(ranked, function (a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.place < b.place
  end)
  for i, entry in ipairs(ranked) do ranked[i] = entry.node end
  return ranked
end

-- The mean place of a node's neighbours in the column that was ordered before.
local function pull_of(name, edges, end_name, place)
  local sum, n = 0, 0
  for _, edge in ipairs(edges) do
    if not edge.back and place[edge[end_name]] then
      sum, n = sum + place[edge[end_name]], n + 1
    end
  end
  return n > 0 and sum / n or place[name]
end

local function sort_column(column, place, edges_of, end_name)
  local keys = {}
  for _, name in ipairs(column) do
    keys[name] = pull_of(name, edges_of[name], end_name, place)
  end
  table.sort(column, function (a, b)
    if keys[a] ~= keys[b] then return keys[a] < keys[b] end
    return place[a] < place[b]
  end)
  for i, name in ipairs(column) do place[name] = i end
end

-- The column of each node: behind all that lead to it. `order` has the last first.
local function columns_of(order, into, backs)
  local layer = {}
  for i = #order, 1, -1 do
    local name, first = order[i], 1
    for _, edge in ipairs(into[name]) do
      if not backs[edge] and edge.from ~= name then
        first = math.max(first, layer[edge.from] + 1)
      end
    end
    layer[name] = first
  end
  return layer
end

--- For `nodes`, a list of {name =, first = does a way begin there?}, and `edges`, a
--- list of {from =, to =}: the number of each node's column, {[NAME] = from 1}; and its
--- columns, a list of lists of names, in order. Edges that lead back get `back` = true.
function layers.of(nodes, edges)
  local out_of, into = adjacency(nodes, edges)
  local order, backs = search(by_rank(nodes, into), out_of)
  for edge in pairs(backs) do edge.back = true end
  local layer = columns_of(order, into, backs)
  local columns, place = {}, {}
  for i = #order, 1, -1 do
    local name = order[i]
    for k = #columns + 1, layer[name] do columns[k] = {} end
    local column = columns[layer[name]]
    column[#column + 1] = name
    place[name] = #column
  end
  for _ = 1, SWEEPS do
    for k = 2, #columns do sort_column(columns[k], place, into, "from") end
    for k = #columns - 1, 1, -1 do sort_column(columns[k], place, out_of, "to") end
  end
  return layer, columns
end

return layers
