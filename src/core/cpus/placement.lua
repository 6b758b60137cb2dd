-- SPDX-License-Identifier: Apache-2.0
-- Placing the apps of a program that assigns none itself (perigee PROGRAM --cpus 1-4):
-- copies on each CPU where the program allows that, else a cut of the graph, in the
-- order that packets pass it, so that the CPU with most to do has as little as can be.

local affinity = require("core.cpus.affinity")
local balancer = require("core.cpus.balancer")
local config = require("core.config")
local distribute = require("core.cpus.distribute")
local dividable = require("core.cpus.dividable")
local log = require("core.lib.log")
local this_engine = require("core.this_engine")
local order = require("core.engine.order")
local partition = require("core.cpus.partition")

local placement = {}

local cpus          -- those asked for, a list; nil: none
local replicable    -- see placement.copies()
local weights       -- see placement.weigh()
local reasons = {}
local told           -- see placement.tell()

--- For how many seconds the apps' cycles are measured before a cut.
placement.SECONDS = 0.3

--- Place apps on the CPUs of the list that `text` gives ("1-4", "0,2"); nil: on none.
--- Raises a failure.
function placement.use(text)
  cpus = text and affinity.list(text)
end

--- The CPUs to use, a list; nil: none were asked for.
function placement.wanted() return cpus end

--- What the program says about copies: `names_of` returns the names of the apps of a
--- configuration of which there may be several; nil: of none.
function placement.copies(names_of) replicable = names_of end

--- What was measured of the apps' cycles, {[NAME] = number}, for cuts; nil: nothing.
function placement.weigh(measured) weights = measured end

--- What was done and why, a list of lines, for people.
function placement.reasons() return reasons end

--- What people are told of how apps or elements are divided, a list of lines; a program
--- that makes copies by itself says it (placement.tell).
function placement.told() return told or {} end

--- The lines that placement.told() gives from now on; nil: none.
function placement.tell(lines) told = lines end

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
local function pieces(names, weight_of, parts, most)
  local starts, sum = {1}, 0
  for i, name in ipairs(names) do
    local weight = weight_of[name]
    if weight > most then return nil end
    sum = sum + weight
    if sum > most then
      starts[#starts + 1], sum = i, weight
      if #starts > parts then return nil end
    end
  end
  return starts
end

--- A cut of the configuration over the CPUs of the list `on`: the CPU of each app,
--- {[NAME] = CPU}; and the cycles of each CPU. `measured` are the apps' cycles,
--- {[NAME] = number}; one that isn't there counts as 1. The largest of the sums is as
--- small as it can be for cuts that keep the packets' order of apps.
function placement.cut(c, on, measured)
  local names, weight = in_order(c), {}
  for _, name in ipairs(names) do weight[name] = measured[name] or 1 end
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
    if pieces(names, weight, #on, bounds[middle]) then high = middle
    else low = middle + 1 end
  end
  local starts = pieces(names, weight, #on, bounds[low] or 0) or {1}
  local placed, loads = {}, {}
  for k, start in ipairs(starts) do
    for i = start, (starts[k + 1] or #names + 1) - 1 do
      placed[names[i]] = on[k]
      loads[on[k]] = (loads[on[k]] or 0) + weight[names[i]]
    end
  end
  return placed, loads
end

local function say(fmt, ...)
  reasons[#reasons + 1] = fmt:format(...)
end

--- Is the configuration to be placed?
function placement.concerns(c)
  return cpus ~= nil and not this_engine.worker() and next(c.apps) ~= nil
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

-- How the apps would be divided, a list of {name =, kind = or why =}; and the kind that
-- is enough for all, or nil.
local function division(c)
  local list, all = {}, "any"
  for i, name in ipairs(config.sorted_keys(c.apps)) do
    local app = c.apps[name]
    local kind, why = dividable.of(app.class, app.arg)
    list[i] = {name = name, kind = kind, why = why}
    all = all and kind and dividable.both(all, kind)
  end
  return list, all
end

-- Are copies better than a cut? For apps that keep nothing only if a port has queues.
local function are_worthwhile(c, kind)
  local has_port, has_queues = false, false
  local meets = kind ~= "any" and dividable.meets(kind) or nil
  for _, app in pairs(c.apps) do
    local split = app.class.split
    has_port = has_port or split ~= nil
    has_queues = has_queues
      or split and split(app.arg, #cpus, 0, meets) ~= nil
  end
  return has_queues or has_port and kind ~= "any"
end

-- The names of the apps that there may be several of; and what has to come to one copy.
local function divided(c)
  local names = replicable and replicable(c)
  if names then return names, "nothing", "the program allows that" end
  local _, kind = division(c)
  if not kind or not are_worthwhile(c, kind) then return nil end
  local meets = dividable.meets(kind)
  return config.sorted_keys(c.apps), meets, dividable.handing_out(meets)
end

--- Is it to be placed at once, as nothing can or has to be measured before?
function placement.ready(c)
  return placement.concerns(c) and (divided(c) ~= nil or weights ~= nil
    or first_to_begin_anew(c) ~= nil)
end

local function explain(c, loads, measured)
  for _, cpu in ipairs(cpus) do
    local names = {}
    for _, name in ipairs(config.sorted_keys(c.apps)) do
      if c.cpus[name] == cpu then names[#names + 1] = name end
    end
    local load = loads and measured
      and (" (%.1f cycles a packet)"):format(loads[cpu] or 0) or ""
    say("CPU %d: %s%s", cpu, names[1] and table.concat(names, ", ") or "nothing", load)
  end
end

-- Why the copies can't be balanced (--balance), or nil.
local function why_unbalanced(c, names, meets)
  if not names then return "there are no copies, but a cut" end
  if meets and meets ~= "nothing" then
    return "an app keeps state of its flows, which can't move"
  end
  for _, app in pairs(c.apps) do
    if app.class == distribute.Distribute then return nil end
  end
  return "ports have queues, to which their cards hand packets out"
end

local function balance(c, names, meets)
  if not balancer.wanted() then return end
  local why = why_unbalanced(c, names, meets)
  if why then
    log.warning("--balance: flows stay where they are: %s", why)
  else
    balancer.begin(cpus)
    told[#told + 1] = "--balance: flows move from the busiest CPU to the least busy one"
  end
end

--- The configuration `c`, placed.
function placement.place(c)
  c, reasons = config.copy(c), {}
  placement.tell(dividable.lines((division(c))))
  local names, meets, why = divided(c)
  if names then
    config.replicate(c, names, cpus, meets, balancer.table)
    say("placed as copies on each CPU: %s", why)
    explain(c)
  else
    local placed, loads = placement.cut(c, cpus, weights or {})
    for name, cpu in pairs(placed) do config.cpu(c, name, cpu) end
    local anew = not weights and first_to_begin_anew(c)
    say("placed by a cut where %s balance best%s", weights and "the measured cycles"
      or "the numbers of apps", anew and (", as '%s' would begin its file again "
      .. "after it was measured"):format(anew) or "")
    explain(c, loads, weights ~= nil)
  end
  balance(c, names, meets)
  return c
end

return placement
