-- SPDX-License-Identifier: Apache-2.0
-- Which sources wait while a ring between two CPUs is full: those of the sending CPU
-- from which packets can come to it, and other rings that bring them there. What is
-- held back waits for a ring that empties in the end: none is held back by rings in a
-- circle, which would wait for each other. Pure.

local config = require("core.config")

local backpressure = {}

-- By app, the apps and the crossings that its packets go to next. A port sends what
-- comes to it out of the machine.
local function successors(c, key_of)
  local next_apps, next_keys = {}, {}
  for name in pairs(c.apps) do next_apps[name], next_keys[name] = {}, {} end
  for spec in pairs(c.links) do
    local from, _, to = config.parse_link(spec)
    if key_of[spec] then
      table.insert(next_keys[from], key_of[spec])
    else
      table.insert(next_apps[from], to)
    end
  end
  return next_apps, next_keys
end

-- The set of the crossings that packets which the app sends can come to first.
local function reached(app, c, next_apps, next_keys)
  local keys, seen, todo = {}, {[app] = true}, {app}
  while #todo > 0 do
    local name = table.remove(todo)
    for _, key in ipairs(next_keys[name]) do keys[key] = true end
    for _, other in ipairs(next_apps[name]) do
      if not seen[other] and not c.apps[other].class.direct then
        seen[other] = true
        todo[#todo + 1] = other
      end
    end
  end
  return keys
end

-- Does a way lead from the crossing back to it?
local function in_circle(key, leads_to)
  local seen, todo = {}, {key}
  while #todo > 0 do
    for other in pairs(leads_to[table.remove(todo)]) do
      if other == key then return true end
      if not seen[other] then
        seen[other] = true
        todo[#todo + 1] = other
      end
    end
  end
  return false
end

--- Who waits for each crossing of the configuration (core.cpus.partition): {[KEY] =
--- {apps = names of apps, keys = of crossings}}, lists that are sorted; apps that can't
--- wait are among them.
function backpressure.of(c, crossings)
  local key_of, waits, leads_to = {}, {}, {}
  for key, crossing in pairs(crossings) do
    key_of[crossing.spec], waits[key] = key, {apps = {}, keys = {}}
  end
  if next(crossings) == nil then return waits end
  local next_apps, next_keys = successors(c, key_of)
  for key, crossing in pairs(crossings) do
    local _, _, to = config.parse_link(crossing.spec)
    leads_to[key] = c.apps[to].class.direct and {}
      or reached(to, c, next_apps, next_keys)
  end
  for _, key in ipairs(config.sorted_keys(leads_to)) do
    for to in pairs(in_circle(key, leads_to) and {} or leads_to[key]) do
      table.insert(waits[to].keys, key)
    end
  end
  for _, name in ipairs(config.sorted_keys(c.apps)) do
    for key in pairs(reached(name, c, next_apps, next_keys)) do
      table.insert(waits[key].apps, name)
    end
  end
  return waits
end

return backpressure
