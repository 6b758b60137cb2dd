-- SPDX-License-Identifier: Apache-2.0
-- Carrying out a plan. Apps that may fail to start are started before anything
-- else changes, and stopped again if one of them does: the old graph runs on.
-- From then on there is no way back: what callbacks raise is raised at the end.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local drops = require("core.fuse.drops")
local failure = require("core.failure")
local instance = require("core.engine.instance")
local link = require("core.link")
local link_order = require("core.link_order")
local meanwhile = require("core.lib.meanwhile")
local planning = require("core.engine.plan")
local transfer = require("core.move.transfer")
local wiring = require("core.engine.wiring")

local apply = {}

local sorted_keys, collide = config.sorted_keys, planning.collide

-- The app `name`, if it was started before (apply.prepare), or started now.
local function start(name, description, found, ready)
  local app = ready[name]
  ready[name] = nil
  return app or instance.start(name, description, found)
end

-- Start the apps of `names`, with what is known of their arguments; on failure stop
-- those already started. Those in `ready` have been.
local function start_all(names, apps, started, found, ready)
  local done = {}
  for _, name in ipairs(names) do
    meanwhile.pause()
    local ok, app = pcall(start, name, apps[name], found[name], ready)
    if not ok then
      for _, other in ipairs(done) do
        pcall(instance.stop, started[other])
        started[other] = nil
      end
      error(app, 0)
    end
    started[name] = app
    done[#done + 1] = name
  end
end

local function collides_with_any(claim, claims)
  for _, other in pairs(claims) do
    if collide(claim, other) then return true end
  end
  return false
end

-- Apps among `names` that need what a running app has to give up first.
local function split_by_conflict(names, claims, old_claims)
  local free, blocked = {}, {}
  for _, name in ipairs(names) do
    local waits = claims[name] and collides_with_any(claims[name], old_claims)
    local list = waits and blocked or free
    list[#list + 1] = name
  end
  return free, blocked
end

-- Apps to stop before others can start: those started anew with another
-- argument, and those that hold what a new one needs.
local function to_stop_first(state, plan, blocked)
  local names, needed = {}, {}
  for _, name in ipairs(blocked) do needed[name] = plan.claims[name] end
  for _, name in ipairs(plan.restart) do
    names[#names + 1] = name
    needed[name] = plan.claims[name]
  end
  for _, name in ipairs(plan.stop) do
    local held = state.claims[name]
    if held and collides_with_any(held, needed) then names[#names + 1] = name end
  end
  return names
end

-- Take the app `name`, which doesn't run any more, out of the graph.
local function remove_app(state, name, stopped)
  for _, spec in ipairs(sorted_keys(state.links)) do
    if wiring.touches(spec, name) then
      wiring.remove(state, spec, stopped, {})
      state.configuration.links[spec] = nil
    end
  end
  state.apps[name], state.claims[name] = nil, nil
  state.configuration.apps[name] = nil
end

local function start_again(name, description)
  local app = instance.start(name, description)
  local ok, err = pcall(instance.begin, app)
  if ok then return app end
  pcall(instance.stop, app)
  error(err, 0)
end

-- Start again what was stopped, because what was to follow it doesn't start.
-- What doesn't start again either leaves the graph.
local function revive(state, stopped, reason)
  local revived, dead = {}, {}
  for _, name in ipairs(sorted_keys(stopped)) do
    local back, app = pcall(start_again, name, state.configuration.apps[name])
    if back then
      state.apps[name], revived[name] = app, true
    else
      dead[#dead + 1] = ("app '%s', stopped for it, doesn't start again and is "
        .. "removed: %s"):format(name, tostring(app))
      remove_app(state, name, stopped)
    end
  end
  for _, spec in ipairs(sorted_keys(state.links)) do
    wiring.connect(state, spec, revived, {})
  end
  if #dead == 0 then error(reason, 0) end
  failure.raise("%s; and %s", tostring(reason), table.concat(dead, "; "))
end

-- Give the apps of `names`, up to the `last`, their former arguments.
local function take_back(state, names, last)
  for i = last, 1, -1 do
    local app = state.apps[names[i]]
    pcall(app.reconfig, app, state.configuration.apps[names[i]].arg)
  end
end

local function reconfigure(state, new, names)
  for i, name in ipairs(names) do
    local app = state.apps[name]
    local ok, err = xpcall(app.reconfig, failure.explain, app, new.apps[name].arg)
    if not ok then
      take_back(state, names, i)
      failure.within(("app '%s'"):format(name), err)
    end
  end
end

-- All have started: let the new ones make their files, and the like.
local function begin_all(state, fresh, reconfigured)
  for _, name in ipairs(sorted_keys(fresh)) do
    local ok, err = pcall(instance.begin, fresh[name])
    if not ok then
      take_back(state, reconfigured, #reconfigured)
      error(err, 0)
    end
  end
end

local function free_links(made)
  for spec, l in pairs(made) do
    link.free(l, spec)
    made[spec] = nil
  end
end

--- Make the new links of `plan`, before anything changes. They are in state.made until
--- apply.plan takes them, or apply.abandon frees them.
function apply.make_links(state, new, plan)
  for _, spec in ipairs(plan.new_links) do
    meanwhile.pause()
    if not state.made[spec] then
      local l = link.new(spec, new.halves and new.halves[spec])
      link.count_on(l, transfer.counts_of(spec))
      state.made[spec] = l
    end
  end
end

--- The apps and links that there will be, by name and by text; and a set of the names
--- of apps that are only started in the exchange: something of their class stands for
--- them. (A class may say which app its new() returns: class.made.)
function apply.future(state, new, plan)
  local apps, links, unknown = {}, {}, {}
  for name, app in pairs(new.apps) do
    meanwhile.step()
    local class = app.class
    local what = plan.change[name]
    local stays = (not what or what == "reconfig") and state.apps[name]
    apps[name] = stays or state.ready[name] or class.made
    if not apps[name] then
      unknown[name], apps[name] = true, setmetatable({}, {__index = class})
    end
  end
  for spec in pairs(new.links) do
    links[spec] = state.made[spec] or state.links[spec]
  end
  return apps, links, unknown
end

-- Everything that may fail: start what is new, stop what stands in its way,
-- reconfigure, begin. Returns the apps started and a set of the names stopped; adds to
-- `problems` what those raised that leave.
local function exchange(state, new, plan, problems)
  local fresh, stopped = {}, {}
  local free, blocked = split_by_conflict(plan.start, plan.claims, state.claims)
  start_all(free, new.apps, fresh, plan.found, state.ready)
  local first = to_stop_first(state, plan, blocked)
  for _, name in ipairs(plan.restart) do blocked[#blocked + 1] = name end
  local ok, err = pcall(function ()
    for _, name in ipairs(first) do
      stopped[name] = true
      wiring.leave(state, name, plan.old_links, problems)
      instance.stop(state.apps[name])
    end
    start_all(blocked, new.apps, fresh, plan.found, state.ready)
    reconfigure(state, new, plan.reconfig)
    begin_all(state, fresh, plan.reconfig)
    for _, name in ipairs(plan.reconfig) do instance.keep(state.apps[name]) end
  end)
  if not ok then
    for _, name in ipairs(sorted_keys(fresh)) do pcall(instance.stop, fresh[name]) end
    revive(state, stopped, err)
  end
  return fresh, stopped
end

--- Start those apps of `plan` that are new and need nothing that another app has, but
--- for the names in the set `except`. They are in state.ready until apply.plan takes
--- them, or apply.abandon stops them. Raises what an app's new() raised.
function apply.prepare(state, new, plan, except)
  local names = {}
  for _, name in ipairs((split_by_conflict(plan.start, plan.claims, state.claims))) do
    if not (except[name] or state.ready[name]) then names[#names + 1] = name end
  end
  start_all(names, new.apps, state.ready, plan.found, {})
end

--- Stop what apply.prepare has started, and free what apply.make_links has made.
function apply.abandon(state)
  free_links(state.made)
  for name, app in pairs(state.ready) do
    pcall(instance.stop, app)
    state.ready[name] = nil
  end
end

-- An app that is started anew, with another argument, counts on what it drops.
local function inherit(state, new, fresh)
  for name, app in pairs(fresh) do
    local before = state.configuration.apps[name]
    local same = before and before.class == new.apps[name].class
    if same and state.apps[name] then
      drops.inherit(app, state.apps[name])
    elseif state.apps[name] then
      drops.retire(name, state.apps[name])
    end
  end
end

-- Of links that stay one end may have gone to another CPU, or come from one.
local function halve(state, new)
  if not (new.halves or state.configuration.halves) then return end
  for spec, l in pairs(state.links) do
    link.be_half(l, spec, new.halves and new.halves[spec], transfer.counts_of(spec))
  end
end

local everything = setmetatable({}, {__index = function () return true end})

--- Carry out `plan` (engine/plan.lua) to turn `state` ({apps =, links =,
--- claims =, configuration =, lost =, ready =, made =}) into the configuration `new`.
--- Raises what an app's new(), begin(), reconfig(), or stop() of one that is in the way
--- raised, with the old graph as it was; and what other callbacks raised, with the new.
function apply.plan(state, new, plan)
  local made, problems = state.made, {}
  local ok, fresh, stopped = pcall(apply.make_links, state, new, plan)
  if ok then ok, fresh, stopped = pcall(exchange, state, new, plan, problems) end
  if not ok then
    free_links(made)
    error(fresh, 0)
  end
  inherit(state, new, fresh)
  for _, spec in ipairs(plan.old_links) do
    wiring.remove(state, spec, stopped, problems)
  end
  for _, name in ipairs(plan.stop) do
    if not stopped[name] then
      local stopped_well, err = pcall(instance.stop, state.apps[name])
      if not stopped_well then problems[#problems + 1] = tostring(err) end
    end
    if not transfer.leaves(name) then drops.retire(name, state.apps[name]) end
    state.apps[name] = nil
  end
  for name, app in pairs(fresh) do state.apps[name] = app end
  for _, spec in ipairs(link_order.of(new.links, wiring.among(state.links, fresh))) do
    wiring.connect(state, spec, fresh, problems)
  end
  halve(state, new)
  for _, spec in ipairs(link_order.of(new.links, plan.new_links)) do
    state.links[spec], made[spec] = made[spec], nil
    wiring.connect(state, spec, everything, problems)
  end
  state.claims, state.configuration = plan.claims, new
  if #problems > 0 then failure.raise("%s", table.concat(problems, "; ")) end
end

return apply
