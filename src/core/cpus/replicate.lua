-- SPDX-License-Identifier: Apache-2.0
-- N copies of a part of a configuration, each on a CPU of its own. A class that can
-- give each copy a queue has split(arg, n, i, meets), which returns the argument of
-- queue i (from 0) of n, or nil if it can't: such an app stays one, with its packets
-- handed out by flow. Pure.

local distribute = require("core.cpus.distribute")
local failure = require("core.failure")

local replicate = {}

local function set_of(c, names)
  local set = {}
  for _, name in ipairs(names) do
    if not c.apps[name] then
      failure.usage("config.replicate: there is no app '%s'", tostring(name))
    end
    set[name] = true
  end
  return set
end

local function copy_name(name, i) return ("%s_%d"):format(name, i) end

-- Make the copies; returns the set of names that were replicated.
local function copy_apps(config, c, names, cpus, meets)
  local copied = {}
  for _, name in ipairs(names) do
    local app = c.apps[name]
    local split = app.class.split
    if not split or split(app.arg, #cpus, 0, meets) ~= nil then
      copied[name] = true
      c.apps[name] = nil
      for i, cpu in ipairs(cpus) do
        local copy = copy_name(name, i)
        if c.apps[copy] then
          failure.usage("config.replicate: there is an app '%s' already", copy)
        end
        local arg = app.arg
        if split then arg = split(app.arg, #cpus, i - 1, meets) end
        c.apps[copy] = {class = app.class, arg = arg, on_error = app.on_error}
        config.cpu(c, copy, cpu)
      end
    elseif not (c.cpus and c.cpus[name]) then
      config.cpu(c, name, cpus[1])
    end
    if copied[name] and c.cpus then c.cpus[name] = nil end
  end
  return copied
end

-- An app of `class` between an app that is one and those that are several, on the
-- CPU of the former.
local function beside(config, c, class, name, one, arg)
  config.app(c, name, class, arg)
  if c.cpus[one] then config.cpu(c, name, c.cpus[one]) end
  return name
end

--- Replace the apps `names` of the configuration `c` by a copy on each of the CPUs, a
--- list: NAME_1, NAME_2 and so on. `config` is core.config; `meets`
--- (core.cpus.dividable; default "flow"): what has to come to one copy. table_of(NAME,
--- number of copies), optional: where the table is of the app of that name that hands
--- packets out (core.cpus.balancer).
function replicate.apply(config, c, names, cpus, meets, table_of)
  if type(cpus) ~= "table" or #cpus == 0 then
    failure.usage("config.replicate needs a list of CPUs, one for each copy")
  end
  set_of(c, names)
  local copied = copy_apps(config, c, names, cpus, meets)
  for _, spec in ipairs(config.sorted_keys(c.links)) do
    local from, output, to, input = config.parse_link(spec)
    local way
    if copied[from] or copied[to] then c.links[spec] = nil end
    if copied[to] and not copied[from] then
      local name = ("%s_%s_flows"):format(from, output)
      way = beside(config, c, distribute.Distribute, name, from,
        {by = meets, steering = table_of and table_of(name, #cpus)})
      config.link(c, ("%s.%s -> %s.input"):format(from, output, way))
    elseif copied[from] and not copied[to] then
      way = beside(config, c, distribute.Join, ("%s_%s_join"):format(to, input), to)
      config.link(c, ("%s.output -> %s.%s"):format(way, to, input))
    end
    for i = 1, (copied[from] or copied[to]) and #cpus or 0 do
      local a = copied[from] and ("%s.%s"):format(copy_name(from, i), output)
        or ("%s.output%d"):format(way, i)
      local b = copied[to] and ("%s.%s"):format(copy_name(to, i), input)
        or ("%s.input%d"):format(way, i)
      config.link(c, a .. " -> " .. b)
    end
  end
end

return replicate
