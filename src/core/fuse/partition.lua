-- SPDX-License-Identifier: Apache-2.0
-- Which apps are fused: the largest connected groups of per-packet apps (those with
-- process(p), or emit), cut where a path gets too long, and before apps that look
-- ahead. Pure: works on names.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local contract = require("core.fuse.contract")
local equal = require("core.lib.values").equal
local graph = require("core.depth_first")
local look_ahead = require("core.fuse.look_ahead")
local meanwhile = require("core.lib.meanwhile")

local regions = {}

local sorted_keys = config.sorted_keys

--- Why the app can't be part of a region, or nil if it can.
function regions.reason(app)
  if app.process_burst then return "it is a bulk app (process_burst)" end
  if app.emits then
    if contract.own_push(app) then return "it has push() as well as emit()" end
  else
    if not app.process then return "it has no process()" end
    if app.pull or contract.own_push(app) then
      return "it has pull() or push() as well as process()"
    end
  end
  if app.push_link then return "it has push_link" end
end

--- Is the app of Snabb's form, with push() alone? Then it may be lifted
--- (fused.lua: lifting).
function regions.pushes(app)
  return type(contract.own_push(app)) == "function"
    and not (app.pull or app.push_link or app.process_burst or app.emits)
end

-- The links among fusible apps: for each app those that leave it; and the apps that
-- links from others lead to.
local function inner_links(fusible, links)
  local leaving, entered = {}, {}
  for name in pairs(fusible) do leaving[name] = {} end
  for _, spec in ipairs(sorted_keys(links)) do
    meanwhile.step()
    local from, output, to = config.parse_link(spec)
    if fusible[from] and fusible[to] then
      table.insert(leaving[from], {spec = spec, to = to, output = output})
    elseif fusible[to] then
      entered[to] = true
    end
  end
  return leaving, entered
end

-- The apps in topological order, and the set of links that close a loop: as few as can
-- be, when the search begins where packets come in.
local function sort(fusible, leaving, entered)
  local successors, closing, first, others = {}, {}, {}, {}
  for _, name in ipairs(sorted_keys(fusible)) do
    successors[name] = {}
    for i, edge in ipairs(leaving[name]) do successors[name][i] = edge.to end
    table.insert(entered[name] and first or others, name)
  end
  for _, name in ipairs(others) do first[#first + 1] = name end
  local order, place = graph.sort(first, successors)
  for name in pairs(fusible) do
    for _, edge in ipairs(leaving[name]) do
      if place[edge.to] <= place[name] then closing[edge.spec] = true end
    end
  end
  return order, closing
end

-- LuaJIT compiles a path through the apps of a region as one trace: a longer one is
-- cut.
local LONGEST_PATH = 128

-- The next length behind `n` at which a path is cut.
local function cut(n) return (math.floor(n / LONGEST_PATH) + 1) * LONGEST_PATH end

-- For each app, how often the longest path to it has been cut.
local function layers(order, leaving, closing, ahead)
  local length = {}
  for _, name in ipairs(order) do
    length[name] = length[name] or 0
    if ahead[name] then length[name] = cut(length[name]) end
    for _, edge in ipairs(leaving[name]) do
      if not closing[edge.spec] then
        length[edge.to] = math.max(length[edge.to] or 0, length[name] + 1)
      end
    end
  end
  for name, n in pairs(length) do length[name] = math.floor(n / LONGEST_PATH) end
  return length
end

-- For each app the name that stands for its connected group, within its layer.
local function groups(fusible, leaving, layer)
  local parent = {}
  local function root(name)
    while parent[name] do name = parent[name] end
    return name
  end
  for _, name in ipairs(sorted_keys(fusible)) do
    for _, edge in ipairs(leaving[name]) do
      local a, b = root(name), root(edge.to)
      if a ~= b and layer[name] == layer[edge.to] then parent[a] = b end
    end
  end
  return root
end

-- The regions, as regions.find has them; `reason` tells by name why an app is in none,
-- or false, and `ahead` whether it looks ahead.
local function search(apps, links, reason, ahead)
  local fusible, reasons = {}, {}
  for name in pairs(apps) do
    if reason[name] then reasons[name] = reason[name] else fusible[name] = true end
  end
  local leaving, entered = inner_links(fusible, links)
  meanwhile.pause()
  local order, closing = sort(fusible, leaving, entered)
  meanwhile.pause()
  local root = groups(fusible, leaving, layers(order, leaving, closing, ahead))
  meanwhile.pause()
  local list, of = {}, {}
  for _, name in ipairs(order) do
    local region = of[root(name)]
    if not region then
      region = {apps = {}, inner = {}, closing = {}, entries = {}, exits = {},
                puts = false, ahead = ahead}
      list[#list + 1], of[root(name)] = region, region
    end
    table.insert(region.apps, name)
    of[name] = region
    region.puts = region.puts or apps[name].emits or false
  end
  for _, spec in ipairs(sorted_keys(links)) do
    meanwhile.step()
    local from, _, to = config.parse_link(spec)
    local a, b = of[from], of[to]
    if a and a == b then
      a.inner[spec] = true
      if closing[spec] then a.closing[spec], a.puts = true, true end
    else
      if a then table.insert(a.exits, spec) end
      if b then table.insert(b.entries, spec) end
      if b and closing[spec] then b.looped = true end
    end
  end
  return list, reasons
end

-- What the regions follow from: why apps are in none, or false; which emit, and look
-- ahead; the links.
local function question_of(apps, links)
  local question = {reasons = {}, emits = {}, ahead = {}, links = {}}
  for name, app in pairs(apps) do
    question.reasons[name] = regions.reason(app) or false
    question.emits[name] = app.emits and true or false
    question.ahead[name] = look_ahead.wanted(name, app)
  end
  for spec in pairs(links) do question.links[spec] = true end
  return question
end

-- The last questions and answers (see core.engine.order): two, as those that are asked
-- with apps of Snabb's form have a second without some of them.
local MOST_KNOWN = 2
local known = {}

local function answer(question)
  for _, k in ipairs(known) do
    if equal(k.question, question) then return k end
  end
end

--- The regions of the graph of `apps` and `links` (tables by name and by text): a list
--- of {apps = names in topological order, inner = set of fused links, closing = those
--- of them that close a loop, entries, exits = lists of links in and out, looped =
--- whether an entry closes a loop, puts = whether packets may leave it in the midst of
--- an app's process(): with emit(), or in a loop, ahead = by name whether an app looks
--- ahead}. Also a table from each app that is in none to the reason. Neither is to be
--- changed.
function regions.find(apps, links)
  local question = question_of(apps, links)
  local k = answer(question)
  if not k then
    k = {question = question}
    k.list, k.why = search(apps, links, question.reasons, question.ahead)
    table.insert(known, 1, k)
    known[MOST_KNOWN + 1] = nil
  end
  return k.list, k.why
end

return regions
