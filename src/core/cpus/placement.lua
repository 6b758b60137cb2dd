-- SPDX-License-Identifier: Apache-2.0
-- Placing the apps of a program that places none itself (perigee PROGRAM --cpus 1-4):
-- copies on each CPU where the program allows that, else a cut of the graph, in the
-- order that packets pass it, so that the CPU with most to do has as little as can be.

local config = require("core.config")
local here = require("core.cores.here")
local order = require("core.engine.order")
local partition = require("core.cores.partition")

local auto = {}

--- The CPUs that were asked for, a list; nil: none.
auto.cpus = nil
--- What the program says about copies: a function that returns the names of the apps
--- of a configuration of which there may be several; nil: of none.
auto.replicable = nil
--- What was measured of the apps' cycles (core.cores.weights), for cuts; and for how
--- long that is measured before.
auto.weights = nil
auto.SECONDS = 0.3
--- What was done and why, a list of lines, for people.
auto.reasons = {}

-- Apps in the order in which a packet meets them, then those without links.
local function in_order(c)
  local pulling, list, seen = {}, {}, {}
  local function add(name)
    if not seen[name] then list[#list + 1], seen[name] = name, true end
  end
  for name, app in pairs(c.apps) do pulling[name] = app.class.pull ~= nil or nil end
  for _, spec in ipairs(order.links(c.links, pulling)) do
    local from, _, to = config.parse_link(spec)
    add(from)
    add(to)
  end
  for _, name in ipairs(config.sorted_keys(c.apps)) do add(name) end
  return list
end

-- Can `names` be cut into `parts` pieces of no more than `most`? Where each begins.
local function pieces(names, weights, parts, most)
  local starts, sum = {1}, 0
  for i, name in ipairs(names) do
    local weight = weights[name]
    if weight > most then return nil end
    sum = sum + weight
    if sum > most then
      starts[#starts + 1], sum = i, weight
      if #starts > parts then return nil end
    end
  end
  return starts
end

--- A cut of the configuration: the CPU of each app, {[NAME] = CPU}; and the cycles of
--- each CPU. `weights` are the apps' cycles, {[NAME] = number}; one that isn't there
--- counts as 1. The largest of the sums is as small as it can be for cuts that keep
--- the packets' order of apps.
function auto.cut(c, cpus, weights)
  local names, weight = in_order(c), {}
  for _, name in ipairs(names) do weight[name] = weights[name] or 1 end
  local bounds = {}
  for i = 1, #names do
    local sum = 0
    for k = i, #names do
      sum = sum + weight[names[k]]
      bounds[#bounds + 1] = sum
    end
  end
  table.sort(bounds)
  local low, high = 1, #bounds -- the least bound that will do
  while low < high do
    local middle = math.floor((low + high) / 2)
    if pieces(names, weight, #cpus, bounds[middle]) then high = middle
    else low = middle + 1 end
  end
  local starts = pieces(names, weight, #cpus, bounds[low] or 0) or {1}
  local placed, loads = {}, {}
  for k, start in ipairs(starts) do
    for i = start, (starts[k + 1] or #names + 1) - 1 do
      placed[names[i]] = cpus[k]
      loads[cpus[k]] = (loads[cpus[k]] or 0) + weight[names[i]]
    end
  end
  return placed, loads
end

local function say(fmt, ...)
  auto.reasons[#auto.reasons + 1] = fmt:format(...)
end

--- Is the configuration to be placed?
function auto.concerns(c)
  return auto.cpus ~= nil and not here.worker and next(c.apps) ~= nil
    and not partition.is_placed(c)
end

-- An app that reads or writes a file would begin it again where it is moved to, when
-- the apps have been measured: a class says so by begins_anew(arg).
local function first_to_begin_anew(c)
  for _, name in ipairs(config.sorted_keys(c.apps)) do
    local app = c.apps[name]
    if app.class.begins_anew and app.class.begins_anew(app.arg) then return name end
  end
end

--- Is it to be placed at once, as nothing can or has to be measured before?
function auto.ready(c)
  return auto.concerns(c) and (auto.replicable ~= nil or auto.weights ~= nil
    or first_to_begin_anew(c) ~= nil)
end

local function explain(c, loads, measured)
  for _, cpu in ipairs(auto.cpus) do
    local names = {}
    for _, name in ipairs(config.sorted_keys(c.apps)) do
      if c.cpus[name] == cpu then names[#names + 1] = name end
    end
    local load = loads and measured
      and (" (%.1f cycles a packet)"):format(loads[cpu] or 0) or ""
    say("CPU %d: %s%s", cpu, names[1] and table.concat(names, ", ") or "nothing", load)
  end
end

--- The configuration `c`, placed.
function auto.place(c)
  local weights = auto.weights
  c, auto.reasons = config.copy(c), {}
  local names = auto.replicable and auto.replicable(c)
  if names then
    config.replicate(c, names, auto.cpus)
    say("placed as copies on each CPU: the program allows that")
    explain(c)
  else
    local placed, loads = auto.cut(c, auto.cpus, weights or {})
    for name, cpu in pairs(placed) do config.cpu(c, name, cpu) end
    local anew = not weights and first_to_begin_anew(c)
    say("placed by a cut where %s balance best%s", weights and "the measured cycles"
      or "the numbers of apps", anew and (", as '%s' would begin its file again "
      .. "after it was measured"):format(anew) or "")
    explain(c, loads, weights ~= nil)
  end
  return c
end

return auto
