-- SPDX-License-Identifier: Apache-2.0
-- In which order a breath calls the apps: pull() by app name, then push() once
-- for each link, links sorted so that a packet passes the whole graph in one
-- breath: reverse post-order, where the names of the links' ends break ties. What an
-- app that pulls sends is taken as new, whatever comes to it: its links come first, and
-- ports in loops end these. All as in Snabb (core.app's compute_breathe_order), so that
-- packets of parallel paths meet in the same order.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local graph = require("core.depth_first")
local meanwhile = require("core.lib.meanwhile")
local repush = require("core.repush")

local order = {}

-- The texts of the links, sorted by where they lead to (several may lead to one input);
-- names of the apps at their ends; and the links that leave each app, also sorted.
local function ends_of(links)
  local specs, from, to, input, leaving = {}, {}, {}, {}, {}
  for spec in pairs(links) do
    local a, _, b, name = config.parse_link(spec)
    specs[#specs + 1] = spec
    from[spec], to[spec], input[spec] = a, b, b .. "." .. name
  end
  table.sort(specs, function (a, b)
    if input[a] ~= input[b] then return input[a] < input[b] end
    return a < b
  end)
  meanwhile.pause()
  for _, spec in ipairs(specs) do
    meanwhile.step()
    local a = from[spec]
    leaving[a] = leaving[a] or {}
    table.insert(leaving[a], spec)
  end
  return specs, from, to, leaving
end

-- What the last question was, and the answer: a graph is often arranged again as it is,
-- and what it will be is worked out while packets pass.
local last = {links = {}, pulling = {}, sorted = {}}

local function same_keys(a, b)
  for key in pairs(a) do
    if not b[key] then return false end
  end
  for key in pairs(b) do
    if not a[key] then return false end
  end
  return true
end

local function set_of(t)
  local set = {}
  for key in pairs(t) do set[key] = true end
  return set
end

local function sort_links(links, pulling)
  local specs, from, to, leaving = ends_of(links)
  meanwhile.pause()
  local successors = {}
  for _, spec in ipairs(specs) do
    local app = to[spec]
    successors[spec] = not pulling[app] and leaving[app] or {}
  end
  local roots, others = {}, {} -- where packets come in, and the rest
  for _, spec in ipairs(specs) do
    table.insert(pulling[from[spec]] and roots or others, spec)
  end
  for _, spec in ipairs(others) do roots[#roots + 1] = spec end
  return (graph.sort(roots, successors))
end

--- The texts of `links` (a table that has them as keys), each after those that
--- lead to it, but for loops. `pulling` is the set of the names of apps that
--- pull. The list isn't to be changed.
function order.links(links, pulling)
  if not (same_keys(last.links, links) and same_keys(last.pulling, pulling)) then
    local sorted = sort_links(links, pulling)
    last = {links = set_of(links), pulling = set_of(pulling), sorted = sorted}
  end
  return last.sorted
end

--- The set of the names of those of `apps` that pull.
function order.pulling(apps)
  local set = {}
  for name, app in pairs(apps) do
    if app.pull then set[name] = true end
  end
  return set
end

-- What carries packets on from the link `spec`: push(app, link), the app, and whether
-- it is called once more if it was just before; nothing for a link that a fused
-- region has taken over.
local function carrier(spec, apps, fused)
  local _, _, to, input = config.parse_link(spec)
  local app = apps[to]
  if fused.run[spec] then return fused.run[spec], app, true end
  if fused.over[spec] then return nil end
  if fused.forward[spec] then return fused.forward[spec], app, true end
  local special = app.push_link and app.push_link[input]
  if app.needs_packets and app.push and not special then
    return repush.push_waiting, app, true
  end
  return special or app.push or fused.push[to], app, special
end

-- May the app be called for the link again in a breath? Snabb's apps may count on that
-- they are not.
local function knows_rounds(push, app, spec, fused)
  return push == fused.run[spec] or push == fused.push[app.appname]
    or push == app.push and app.direct
end

--- The calls of a breath: a list of apps to pull, and the pushes as three lists
--- of one length: the functions push(app, link), their apps and their links.
--- Both know their length as `n`. When only regions, bulk apps and ports are called,
--- `ports` of the pushes are those that give a burst with each round of them
--- (core.engine.breath); `specs` are the texts of all links, in that order. `fused`
--- (core.fuse.fused) says what regions have taken over: run[spec], over[spec],
--- pulled[name], once; forward[spec], from port to port; push[name], for apps on their
--- own; before[spec], what is called once before that run and others with that list;
--- and flushes, what is called as if pulled after the apps. Those before are by their
--- numbers in `aside`.
function order.breath(apps, links, fused)
  local pulls, pushes = {}, {push = {}, app = {}, link = {}, aside = {}}
  local pulling = order.pulling(apps)
  for _, name in ipairs(config.sorted_keys(pulling)) do
    if not fused.pulled[name] then pulls[#pulls + 1] = apps[name] end
  end
  for _, flush in ipairs(fused.flushes) do pulls[#pulls + 1] = flush end
  local specs = order.links(links, pulling)
  local repeatable = #pulls == 0 and #fused.once > 0
  local function add(push, app, l)
    local n = #pushes.push + 1
    pushes.push[n], pushes.app[n], pushes.link[n] = push, app, l
    return n
  end
  local called = {}
  local function call_before(list)
    if not list or called[list] then return end
    called[list] = true
    for _, it in ipairs(list) do
      pushes.aside[add(it.call, it.app, it.link)] = true
      repeatable = false
    end
  end
  for _, spec in ipairs(specs) do
    call_before(fused.before[spec])
    local push, app, always = carrier(spec, apps, fused)
    local n = #pushes.push
    local again = not always and pushes.app[n] == app and pushes.push[n] == push
    if push and not again then
      add(push, app, links[spec])
      repeatable = repeatable and knows_rounds(push, app, spec, fused)
    end
  end
  pulls.n, pushes.n = #pulls, #pushes.push
  pushes.ports, pushes.specs = repeatable and fused.once or nil, specs
  return pulls, pushes
end

-- The calls by name -----------------------------------------------------------------

-- The method that the engine calls, or calls for each packet or burst.
local function method_of(app)
  if app.push then return "push" end
  return app.process_burst and "process_burst" or app.process and "process" or "push"
end

local function regions_by_run(regions)
  local region_of = {}
  for _, region in ipairs(regions) do
    for _, run in ipairs(region.run) do region_of[run] = region end
  end
  return region_of
end

--- The calls of a breath in their order, for those who show them: pulls, a list of
--- names of apps; pushes, a list of {app =, link = its text, method =, region = what
--- the app is fused into or nil}; rounds, how often the pushes may be made
--- (core.repush).
function order.by_name(pulls, pushes, links, fused)
  local text, region_of = {}, regions_by_run(fused.regions)
  local list = {pulls = {}, pushes = {}, rounds = pushes.ports and repush.MOST or 1}
  for spec, l in pairs(links) do text[l] = spec end
  for i = 1, pulls.n do list.pulls[i] = pulls[i].appname end
  for i = 1, pushes.n do
    local spec = text[pushes.link[i]]
    list.pushes[i] = {app = pushes.app[i].appname, link = spec,
                      method = method_of(pushes.app[i]),
                      region = not pushes.aside[i]
                        and region_of[fused.run[spec] or false] or nil}
  end
  return list
end

local MOST_APPS = 6 -- of a region

local function text_of(push)
  local apps = push.region and push.region.description.apps or {}
  if #apps < 2 then return ("app '%s': in %s()"):format(push.app, push.method) end
  return ("the region of %s%s: in process()"):format(
    table.concat(apps, ", ", 1, math.min(#apps, MOST_APPS)),
    #apps > MOST_APPS and " and others" or "")
end

--- The calls of a breath as text, a line each: those of `list` (order.by_name), and of
--- tick() of the apps `ticks`.
function order.text(list, ticks)
  local lines = {}
  for _, name in ipairs(list.pulls) do
    lines[#lines + 1] = ("app '%s': in pull()"):format(name)
  end
  for _, push in ipairs(list.pushes) do lines[#lines + 1] = text_of(push) end
  for _, app in ipairs(ticks) do
    lines[#lines + 1] = ("app '%s': in tick()"):format(app.appname)
  end
  return table.concat(lines, "\n")
end

return order
