-- SPDX-License-Identifier: Apache-2.0
-- In which order a breath calls the apps: pull() by app name, then push() once
-- for each link, links sorted so that a packet passes the whole graph in one
-- breath (reverse post-order; names break ties).

local config = require("core.config")

local order = {}

-- Links by the app they leave, each list sorted by the link's text.
local function links_leaving(links)
  local leaving = {}
  for _, spec in ipairs(config.sorted_keys(links)) do
    local from = config.parse_link(spec)
    leaving[from] = leaving[from] or {}
    table.insert(leaving[from], spec)
  end
  return leaving
end

--- The links' texts, each after those that lead to it, but for loops.
function order.links(links)
  local leaving, seen, finished = links_leaving(links), {}, {}
  -- Depth first without recursion: chains may be thousands of apps long.
  local function visit(root)
    local stack = {{spec = root, next = 1}}
    seen[root] = true
    while #stack > 0 do
      local top = stack[#stack]
      local _, _, to = config.parse_link(top.spec)
      local successor = (leaving[to] or {})[top.next]
      top.next = top.next + 1
      if not successor then
        finished[#finished + 1] = top.spec
        stack[#stack] = nil
      elseif not seen[successor] then
        seen[successor] = true
        stack[#stack + 1] = {spec = successor, next = 1}
      end
    end
  end
  local entered = {}
  for spec in pairs(links) do
    local _, _, to = config.parse_link(spec)
    entered[to] = true
  end
  local specs = config.sorted_keys(links)
  for pass = 1, 2 do -- first from the sources, then what only loops lead to
    for i = #specs, 1, -1 do
      local from = config.parse_link(specs[i])
      if not seen[specs[i]] and (pass == 2 or not entered[from]) then
        visit(specs[i])
      end
    end
  end
  local sorted = {}
  for i = #finished, 1, -1 do sorted[#sorted + 1] = finished[i] end
  return sorted
end

--- The calls of a breath: a list of apps to pull, and the pushes as three lists
--- of one length: the functions push(app, link), their apps and their links.
function order.breath(apps, links)
  local pulls, pushes = {}, {push = {}, app = {}, link = {}}
  for _, name in ipairs(config.sorted_keys(apps)) do
    if apps[name].pull then pulls[#pulls + 1] = apps[name] end
  end
  for _, spec in ipairs(order.links(links)) do
    local _, _, to, input = config.parse_link(spec)
    local app = apps[to]
    local special = app.push_link and app.push_link[input]
    local push = special or app.push
    local n = #pushes.push
    local again = not special and pushes.app[n] == app and pushes.push[n] == push
    if push and not again then
      pushes.push[n + 1], pushes.app[n + 1] = push, app
      pushes.link[n + 1] = links[spec]
    end
  end
  return pulls, pushes
end

return order
