-- SPDX-License-Identifier: Apache-2.0
-- Making an app of its class and argument, letting it begin, and stopping it. A start
-- that fails leaves nothing behind; a stop that fails has stopped all the same.

local clock = require("core.lib.clock")
local contract = require("core.fuse.contract")
local counter = require("core.counter")
local drops = require("core.fuse.drops")
local failure = require("core.failure")
local mode = require("core.check.mode")
local renewal = require("core.move.renewal")
local shm = require("core.shm")
local transfer = require("core.move.transfer")
local tables = require("core.lib.tables")

local instance = {}

local function named(name, err)
  failure.within(("app '%s'"):format(name), err)
end

local function create_frame(name, app)
  app.shm.dtime = {counter, clock.unix_seconds()}
  app.shm = shm.create_frame("apps/" .. shm.part(name), app.shm)
end

local new_app = function (_, make, class, ...) return make(class, ...) end
local guard = function () end
if mode.on then
  local apps = require("core.check.apps")
  guard = apps.guard
  new_app = apps.within
end

-- emit() until the graph is arranged.
local function too_early()
  failure.raise("emit() was called before the app runs, in link() or the like")
end

-- The name of the module that the function is of, if that called module(), as those
-- of Snabb do.
local function module_of(f)
  return type(f) == "function" and rawget(getfenv(f), "_NAME") or nil
end

-- The next step, f(name, app): if that fails, the app is stopped.
local function finish(name, app, f)
  local ok, err = xpcall(f, failure.explain, name, app)
  if ok then return end
  if app.stop then pcall(app.stop, app) end
  named(name, err)
end

--- Start the app `name` of `description`, {class =, arg =}; the app. `found`: what
--- the class's check_arg() found out about the argument, if anything. One that comes
--- from another CPU goes on as it was there, if it can (core.move.transfer).
function instance.start(name, description, found)
  local class, given = description.class, transfer.take(name)
  local state = given and given.app
  local ok, app = xpcall(new_app, failure.explain, name,
    state and class.take_over or class.new, class, description.arg, state or found)
  if not ok and app.bug then error(failure.in_app(name, "new", app), 0) end
  if not ok then named(name, app) end
  if type(app) ~= "table" then
    failure.raise("app '%s': its class's new() returned %s, not an app", name,
      app == nil and "nil" or "a " .. type(app))
  end
  app.appname = name
  app.zone = app.zone or module_of(class.new) or name
  app.input, app.output = {}, {}
  if app.push and not contract.own_push(app) then app.push = false end
  -- link() may add to it, and the class's is that of all its apps.
  app.push_link = app.push_link and tables.copy(app.push_link)
  app.emit = app.emits and too_early or app.emit
  finish(name, app, contract.check_app)
  if app.shm then finish(name, app, create_frame) end
  renewal.give(app, class)
  guard(app, name)
  app.moved = state and true or nil
  for reason, n in pairs(given and given.drops or {}) do drops.add(app, reason, n) end
  return app
end

--- Tell the app that the configuration it is part of has been accepted. Raises what its
--- begin() raised.
function instance.begin(app)
  if app.moved then return end
  if app.begin then
    local ok, err = xpcall(app.begin, failure.explain, app)
    if not ok then named(app.appname, err) end
  end
  instance.keep(app)
end

local keeper

--- f(app) is called with each app that has a method kept_state(), once it has begun or
--- has another argument (net.keep.apps).
function instance.keep_by(f) keeper = f end

--- What the app has is what is to be kept of it.
function instance.keep(app)
  if not (keeper and app.kept_state) then return end
  local ok, err = xpcall(keeper, failure.explain, app)
  if not ok then named(app.appname, err) end
end

--- Stop the app, or let it go to another CPU, and remove its counters. Raises what its
--- stop() raised.
function instance.stop(app)
  local ok, err, name = true, nil, app.appname
  local gone = transfer.leaves(name) and transfer.give(name, app, drops.of(app))
  if app.stop and not gone then ok, err = xpcall(app.stop, failure.explain, app) end
  if app.shm then shm.delete_frame(app.shm) end
  if not ok then error(failure.in_app(app.appname, "stop", err), 0) end
end

return instance
