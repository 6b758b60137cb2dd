-- SPDX-License-Identifier: Apache-2.0
-- Changes of a graph as Snabb's list of actions, {{NAME, {ARGUMENT, ...}}, ...}:
-- made in one process, sent to another (lib.ptree), and applied there. Pure.

local config = require("core.config")
local differences = require("core.engine.difference")

local actions = {}

local sorted_keys = config.sorted_keys

-- Links that are there no more.
local function unlink(add, old_links)
  for _, spec in ipairs(old_links) do
    local from, output, to, input = config.parse_link(spec)
    add("unlink_output", from, output)
    add("unlink_input", to, input)
    add("free_link", spec)
  end
end

-- Apps; returns a set of the names of those that are new.
local function exchange_apps(add, new, difference)
  local fresh = {}
  for _, name in ipairs(difference.stop) do add("stop_app", name) end
  for _, name in ipairs(sorted_keys(difference.change)) do
    local app, what = new.apps[name], difference.change[name]
    if what == "restart" then add("stop_app", name) end
    if what == "reconfig" then
      add("reconfig_app", name, app.class, app.arg)
    else
      add("start_app", name, app.class, app.arg)
      fresh[name] = true
    end
  end
  return fresh
end

local function connect(add, old, new, fresh)
  for _, spec in ipairs(sorted_keys(new.links)) do
    local from, output, to, input = config.parse_link(spec)
    local added = not old.links[spec]
    for _, name in ipairs{from, to} do
      if not new.apps[name] then error("no such app: " .. name, 0) end
    end
    if added then add("new_link", spec) end
    if added or fresh[from] then add("link_output", from, output, spec) end
    if added or fresh[to] then add("link_input", to, input, spec) end
  end
end

--- The actions that turn the configuration `old` into `new`.
function actions.compute(old, new)
  local list = {}
  local function add(name, ...) list[#list + 1] = {name, {...}} end
  local difference = differences.of(old, new)
  unlink(add, difference.old_links)
  connect(add, old, new, exchange_apps(add, new, difference))
  return list
end

local steps = {}

function steps.start_app(c, forced, name, class, arg)
  c.apps[name] = {class = class, arg = arg}
  if forced[name] == "stop" then forced[name] = "restart" end
end

function steps.stop_app(c, forced, name)
  if c.apps[name] then forced[name] = "stop" end
  c.apps[name] = nil
end

function steps.reconfig_app(c, forced, name, class, arg)
  c.apps[name] = {class = class, arg = arg}
  forced[name] = forced[name] or "reconfig"
end

function steps.new_link(c, _, spec) c.links[spec] = true end
function steps.free_link(c, _, spec) c.links[spec] = nil end

-- What the graph's links say already.
local implied = {
  link_output = true, link_input = true, unlink_output = true, unlink_input = true,
}

--- The configuration that the actions make of `running`; and a table from the names
--- of apps that are to be changed though their arguments may be as before, to
--- "restart" or "reconfig".
function actions.apply(running, list)
  local c, forced = config.copy(running), {}
  for _, action in ipairs(list) do
    local name, arguments = action[1], action[2]
    if steps[name] then
      steps[name](c, forced, unpack(arguments))
    elseif not implied[name] then
      error(("there is no configuration action '%s'"):format(tostring(name)), 2)
    end
  end
  return c, forced
end

return actions
