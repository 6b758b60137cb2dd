-- SPDX-License-Identifier: Apache-2.0
-- What the two apps at the ends of an interlink share: its name, attaching and leaving.

local counter = require("core.counter")
local failure = require("core.failure")
local interlink = require("lib.interlink")
local log = require("core.lib.log")
local shm = require("core.shm")

local place = {}

place.shm = {lies = {counter}}

place.config = {queue = {}, size = {default = 1024}}

-- A new app of the class.
local function new(class, conf)
  local queue = conf.queue
  if queue and not (type(queue) == "string" and queue:match("^/?[%w_.-]+$")) then
    failure.usage("an interlink's queue can't be called '%s'; give letters, digits, "
      .. "'_', '-' and '.', and '/' before them if all processes are to see it",
      tostring(queue))
  end
  return setmetatable({queue = queue, size = conf.size}, class)
end

-- A queue "/NAME" is there for all processes, another for those of a group: a process,
-- its workers and theirs.
local function path_of(queue)
  local name = queue:match("^/(.*)$")
  return ("%s/%s.interlink"):format(name and "/interlink" or "group/interlink",
    name or queue)
end

--- Attach `app` by attach(name, size) once; `side` is "receiver" or "transmitter". The
--- queue is app.queue or else the app's name.
function place.take(app, side)
  if app.interlink then return end
  local queue = app.queue or app.appname
  app.shm_name = path_of(queue)
  app.interlink = interlink["attach_" .. side](app.shm_name, app.size)
  app.backlink = ("interlink/%s/%s.interlink"):format(side, (queue:gsub("^/", "")))
  shm.alias(app.backlink, app.shm_name)
end

--- Leave the queue if the other side, called `other`, lies.
function place.leave_liar(app, side, other)
  local lie = interlink.lie(app.interlink)
  if not lie then return end
  counter.add(app.shm.lies)
  log.warning("app '%s' leaves %s until its links change: the %s misreports %s",
    app.appname, app.shm_name, other, lie)
  place.leave(app, side)
end

--- Leave the queue.
function place.leave(app, side)
  if not app.interlink then return end
  interlink["detach_" .. side](app.interlink, app.shm_name)
  app.interlink = nil
  shm.unlink(app.backlink)
end

--- The class of the apps at one side, "receiver" or "transmitter", called `name`.
function place.class(name, side)
  local class = {name = "apps.interlink." .. name, config = place.config,
    shm = place.shm, new = new}
  class.__index = class
  function class:link() place.take(self, side) end
  function class:stop() place.leave(self, side) end
  return class
end

return place
