-- SPDX-License-Identifier: Apache-2.0
-- Carrying out a plan. Apps that may fail to start are started before anything
-- else changes, and stopped again if one of them does: the old graph runs on.

local config = require("core.config")
local failure = require("core.failure")
local link = require("core.link")
local shm = require("core.shm")

local apply = {}

local function start(name, app)
  local ok, instance = xpcall(app.class.new, failure.explain, app.class, app.arg)
  if not ok then failure.within(("app '%s'"):format(name), instance) end
  if type(instance) ~= "table" then
    failure.raise("app '%s': its class's new() returned %s, not an app", name,
      type(instance))
  end
  instance.appname = name
  instance.input, instance.output = {}, {}
  if instance.shm then
    instance.shm.dtime = {require("core.counter"), require("core.native").pg_monotonic()}
    instance.shm = shm.create_frame("apps/" .. name, instance.shm)
  end
  return instance
end

local function stop(instance)
  if instance.stop then instance:stop() end
  if instance.shm then shm.delete_frame(instance.shm) end
end

-- Start the apps of `names`; on failure stop those already started.
local function start_all(names, apps, started)
  local done = {}
  for _, name in ipairs(names) do
    local ok, instance = pcall(start, name, apps[name])
    if not ok then
      for _, other in ipairs(done) do
        stop(started[other])
        started[other] = nil
      end
      error(instance, 0)
    end
    started[name] = instance
    done[#done + 1] = name
  end
end

-- Apps among `names` that need what a running app has to give up first.
local function split_by_conflict(names, claims, old_claims)
  local held, free, blocked = {}, {}, {}
  for _, claim in pairs(old_claims) do held[claim] = true end
  for _, name in ipairs(names) do
    local list = held[claims[name]] and blocked or free
    list[#list + 1] = name
  end
  return free, blocked
end

local function attach(app, direction, name, l)
  local links = app[direction]
  links[name] = l
  links[#links + 1] = l
end

local function detach(app, direction, name)
  local links = app[direction]
  for i = #links, 1, -1 do
    if links[i] == links[name] then table.remove(links, i) end
  end
  links[name] = nil
end

local function tell(app, method, direction, name)
  if app[method] then app[method](app, direction, name) end
end

local function remove_link(state, spec)
  local from, output, to, input = config.parse_link(spec)
  detach(state.apps[from], "output", output)
  detach(state.apps[to], "input", input)
  tell(state.apps[from], "unlink", "output", output)
  tell(state.apps[to], "unlink", "input", input)
  state.lost = state.lost + link.free(state.links[spec], spec)
  state.links[spec] = nil
end

local function connect(state, spec, ends)
  local from, output, to, input = config.parse_link(spec)
  for _, side in ipairs{{from, "output", output}, {to, "input", input}} do
    local name, direction, port = unpack(side)
    if ends[name] then
      attach(state.apps[name], direction, port, state.links[spec])
      tell(state.apps[name], "link", direction, port)
    end
  end
end

local everything = setmetatable({}, {__index = function () return true end})

-- Apps to stop before others can start: those started anew with another
-- argument, and those that hold what a new one needs.
local function to_stop_first(state, plan, blocked)
  local names, needed = {}, {}
  for _, name in ipairs(blocked) do needed[plan.claims[name]] = true end
  for _, name in ipairs(plan.restart) do
    names[#names + 1] = name
    needed[plan.claims[name] or ""] = true
  end
  for _, name in ipairs(plan.stop) do
    if needed[state.claims[name] or false] then names[#names + 1] = name end
  end
  return names
end

-- Start again what was stopped, because what was to follow it doesn't start.
local function revive(state, names, reason)
  local revived = {}
  for _, name in ipairs(names) do
    local back, instance = pcall(start, name, state.configuration.apps[name])
    if not back then
      failure.raise("%s; and app '%s', stopped for it, doesn't start again: %s",
        tostring(reason), name, tostring(instance))
    end
    state.apps[name], revived[name] = instance, true
  end
  for _, spec in ipairs(config.sorted_keys(state.links)) do
    connect(state, spec, revived)
  end
end

local function reconfigure(state, new, names)
  for i, name in ipairs(names) do
    local ok, err = pcall(state.apps[name].reconfig, state.apps[name],
      new.apps[name].arg)
    if not ok then
      for j = i, 1, -1 do
        local before = state.configuration.apps[names[j]].arg
        pcall(state.apps[names[j]].reconfig, state.apps[names[j]], before)
      end
      failure.within(("app '%s'"):format(name), err)
    end
  end
end

-- Everything that may fail: start what is new, stop what stands in its way,
-- reconfigure. Returns the apps started and a set of the names stopped.
local function exchange(state, new, plan)
  local fresh, stopped = {}, {}
  local free, blocked = split_by_conflict(plan.start, plan.claims, state.claims)
  start_all(free, new.apps, fresh)
  local first = to_stop_first(state, plan, blocked)
  for _, name in ipairs(plan.restart) do blocked[#blocked + 1] = name end
  local ok, err = pcall(function ()
    for _, name in ipairs(first) do
      stop(state.apps[name])
      stopped[name] = true
    end
    start_all(blocked, new.apps, fresh)
    reconfigure(state, new, plan.reconfig)
  end)
  if not ok then
    for _, name in ipairs(config.sorted_keys(fresh)) do stop(fresh[name]) end
    revive(state, config.sorted_keys(stopped), err)
    error(err, 0)
  end
  return fresh, stopped
end

--- Carry out `plan` (engine/plan.lua) to turn `state` ({apps =, links =,
--- claims =, configuration =, lost =}) into the configuration `new`. Raises
--- what an app raised, with the old graph as it was.
function apply.plan(state, new, plan)
  local fresh, stopped = exchange(state, new, plan)
  for _, spec in ipairs(plan.old_links) do remove_link(state, spec) end
  for _, name in ipairs(plan.stop) do
    if not stopped[name] then stop(state.apps[name]) end
    state.apps[name] = nil
  end
  for name, instance in pairs(fresh) do state.apps[name] = instance end
  for _, spec in ipairs(config.sorted_keys(state.links)) do
    connect(state, spec, fresh)
  end
  for _, spec in ipairs(plan.new_links) do
    state.links[spec] = link.new(spec)
    connect(state, spec, everything)
  end
  state.claims, state.configuration = plan.claims, new
end

return apply
