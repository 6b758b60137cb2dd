-- SPDX-License-Identifier: Apache-2.0
-- Another argument for an app that runs, where its class has no reconfig() of its own:
-- a new app is made of the argument, and what that is made of takes the place of what
-- the running one was. Counters, drops and links stay, and what the class names:
--
--   class.reconfig_keeps      (not inherited) the names of fields that stay, a list; or
--   class.reconfig_keeps(fresh, running)
--                             a function that returns them, or nil: for what stays only
--                             where the two agree. It may write to both
--   class.reconfig_restarts(before, after)
--                             true for arguments that can't follow each other in an app
--                             that runs, as another file: it is stopped and rebuilt
--
-- What doesn't stay is stopped: stop() is called with it.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local renewal = {}

-- What the engine has written into an app (core.engine.instance, core.fuse).
local ENGINES = {appname = true, zone = true, input = true, output = true, shm = true,
  push = true, push_link = true, emit = true, reconfig = true, moved = true}

local function fields_of(app)
  local fields = {}
  for key, value in pairs(app) do
    if not ENGINES[key] then fields[key] = value end
  end
  return fields
end

local function put(app, fields)
  for key, value in pairs(fields) do rawset(app, key, value) end
end

-- Tell the app of its links, as if they were new: outputs first.
local function link_all(app)
  if not app.link then return end
  for _, direction in ipairs{"output", "input"} do
    for name in pairs(app[direction]) do
      if type(name) == "string" then app:link(direction, name) end
    end
  end
end

local function renew(class, app, arg)
  local fresh = class:new(arg)
  local keep = rawget(class, "reconfig_keeps")
  if type(keep) == "function" then keep = keep(fresh, app) end
  local old, new = fields_of(app), fields_of(fresh)
  for _, name in ipairs(keep or {}) do old[name], new[name] = new[name], old[name] end
  for key in pairs(fields_of(app)) do rawset(app, key, nil) end
  put(app, new)
  if rawget(app, "push_link") and fresh.push_link then
    for name in pairs(app.push_link) do app.push_link[name] = nil end
    for name, f in pairs(fresh.push_link) do app.push_link[name] = f end
  end
  link_all(app)
  if app.stop then app.stop(setmetatable(old, getmetatable(app))) end
end

--- Let `app`, which was made by class:new(), take other arguments, if its class says
--- how and it has no reconfig().
function renewal.give(app, class)
  if app.reconfig ~= nil or rawget(class, "reconfig_keeps") == nil then return end
  function app.reconfig(running, arg) renew(class, running, arg) end
end

--- Can the running `app` take another argument? `before` and `after` describe it in the
--- two configurations: {class =, arg =}.
function renewal.can(app, before, after)
  if not app.reconfig then return false end
  local reconfig_restarts = before.class.reconfig_restarts
  return not (reconfig_restarts and reconfig_restarts(before.arg, after.arg))
end

return renewal
