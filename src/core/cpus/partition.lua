-- SPDX-License-Identifier: Apache-2.0
-- From a configuration with CPUs to a part for each worker, and what joins them.
-- In a part, an app of another part that it has links to is a stand-in of the same
-- name (core.cpus.remote_app), so that links keep their names. Pure.

local backpressure = require("core.cpus.backpressure")
local config = require("core.config")
local difference = require("core.engine.difference")
local failure = require("core.failure")
local lib = require("core.lib")
local tables = require("core.lib.tables")

local partition = {}

local sorted_keys = config.sorted_keys

--- The place of apps that have no CPU.
partition.MAIN = "main"
local MAIN = partition.MAIN

--- Are there apps with a CPU?
function partition.is_placed(c)
  return c.cpus ~= nil and next(c.cpus) ~= nil
end

--- Where the app `name` runs: a CPU's number, or MAIN.
function partition.place_of(c, name)
  return c.cpus and c.cpus[name] or MAIN
end
local place_of = partition.place_of

local function check(c)
  for name in pairs(c.cpus or {}) do
    if not c.apps[name] then
      failure.usage("config.cpu names an app '%s'; the apps are: %s", tostring(name),
        table.concat(sorted_keys(c.apps), ", "))
    end
  end
end

local function new_part()
  return {apps = {}, links = {}, remote = {}}
end

local function stand_in(part, name)
  local remote = part.remote[name]
  if not remote then
    remote = {inputs = {}, outputs = {}, waits = {}}
    part.remote[name] = remote
  end
  return remote
end

local function add_waits(parts, waits)
  for _, part in pairs(parts) do
    for _, remote in pairs(part.remote) do
      for input, key in pairs(remote.inputs) do remote.waits[input] = waits[key] end
    end
  end
end

--- The parts of a configuration: {[PLACE] = {apps =, links =, remote = {[APP] = {inputs
--- = {[NAME] = KEY}, outputs = {[NAME] = KEY}, waits = {[NAME of an input] = who waits
--- for it (core.cpus.backpressure)}}}}}; and the crossings, {[KEY] = {spec =,
--- from = PLACE, to = PLACE}}: links between two places.
function partition.of(c)
  check(c)
  local parts, crossings = {[MAIN] = new_part()}, {}
  for name, app in pairs(c.apps) do
    local place = place_of(c, name)
    parts[place] = parts[place] or new_part()
    parts[place].apps[name] = app
  end
  for spec in pairs(c.links) do
    local from, output, to, input = config.parse_link(spec)
    local a, b = place_of(c, from), place_of(c, to)
    parts[a].links[spec], parts[b].links[spec] = true, true
    if a ~= b then
      local key = ("%s: %s to %s"):format(spec, a, b)
      crossings[key] = {spec = spec, from = a, to = b}
      stand_in(parts[a], to).inputs[input] = key
      stand_in(parts[b], from).outputs[output] = key
    end
  end
  add_waits(parts, backpressure.of(c, crossings))
  return parts, crossings
end

--- The CPUs among the places of parts, sorted.
function partition.places(parts)
  local cpus = {}
  for place in pairs(parts) do
    if place ~= MAIN then cpus[#cpus + 1] = place end
  end
  table.sort(cpus)
  return cpus
end

local function policies(part) return tables.field(part.apps, "on_error") end

--- Are two parts the same, so that nothing need be done? (`nil` is an empty one.)
function partition.same(a, b)
  a, b = a or new_part(), b or new_part()
  return difference.none(a, b) and lib.equal(a.remote, b.remote)
    and lib.equal(policies(a), policies(b))
end

--- The part `before` without the apps in the set `moving`, and without their links:
--- what a worker runs while they move from it to another one; nil if none do.
function partition.without_movers(before, moving)
  local moves = false
  local rest = new_part()
  for name, app in pairs(before.apps) do
    if moving[name] then moves = true else rest.apps[name] = app end
  end
  if not moves then return nil end
  for spec in pairs(before.links) do
    local from, output, to, input = config.parse_link(spec)
    local function there(name) return rest.apps[name] or before.remote[name] end
    if there(from) and there(to) and (rest.apps[from] or rest.apps[to]) then
      rest.links[spec] = true
      if not rest.apps[to] then
        local remote = stand_in(rest, to)
        remote.inputs[input] = before.remote[to].inputs[input]
        remote.waits[input] = before.remote[to].waits[input]
      elseif not rest.apps[from] then
        stand_in(rest, from).outputs[output] = before.remote[from].outputs[output]
      end
    end
  end
  return rest
end

return partition
