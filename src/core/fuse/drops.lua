-- SPDX-License-Identifier: Apache-2.0
-- Packets that per-packet apps have dropped, by app and reason. Kept apart from
-- the apps, whose fields are their own, so that the numbers go on when an app is
-- fused, or not any more. In shared memory as apps/NAME/drop_REASON.counter, from
-- the first drop on.

local config = require("core.config")
local counter = require("core.counter")
local failure = require("core.failure")
local shm = require("core.shm")
local tables = require("core.lib.tables")

local drops = {}

local totals = setmetatable({}, {__mode = "k"}) -- by app: {[reason] = packets}
local published = {} -- by app name: {app =, counters = {[path] = counter}}

--- The app drops `n` packets for `reason`, a text.
function drops.add(app, reason, n)
  local t = totals[app]
  if not t then
    t = {}
    totals[app] = t
  end
  t[reason] = (t[reason] or 0) + n
end

--- Packets the app has dropped: a table from reason to number. Those of a fused
--- app are as of the last time its region was accounted for.
function drops.of(app)
  return tables.copy(totals[app])
end

--- The same of the app of that name among the running `apps`; raises a failure if
--- there is none.
function drops.named(apps, name)
  if not apps[name] then
    failure.usage("there is no app '%s'; the apps are: %s", tostring(name),
      table.concat(config.sorted_keys(apps), ", "))
  end
  return drops.of(apps[name])
end

local removed = {} -- by name of apps that are no more: {[reason] = packets}

--- Keep what the app of that name has dropped, which is removed from the graph.
function drops.retire(name, app) drops.add_removed{[name] = totals[app]} end

--- Packets that apps which were removed have dropped: {[NAME] = {[REASON] = packets}}.
function drops.of_removed() return removed end

--- The same of another Lua state that ends: they are told by this one.
function drops.add_removed(others)
  for name, reasons in pairs(others) do
    removed[name] = removed[name] or {}
    for reason, n in pairs(reasons) do
      removed[name][reason] = (removed[name][reason] or 0) + n
    end
  end
end

-- "TTL expired" is apps/NAME/drop_TTL_expired.counter.
local function path_of(name, reason)
  reason = reason:gsub("[^%w]+", "_")
  return ("apps/%s/drop_%s.counter"):format(shm.part(name), reason)
end

local function withdraw(name)
  for path in pairs(published[name].counters) do
    pcall(counter.delete, path) -- it isn't ours any more after a fork
  end
  published[name] = nil
  local directory = "apps/" .. shm.part(name)
  if #shm.children(directory) == 0 then shm.unlink(directory) end
end

--- Remove the counters of apps that aren't among the running `apps` any more.
function drops.keep(apps)
  for name, entry in pairs(published) do
    if apps[name] ~= entry.app then withdraw(name) end
  end
end

--- Remove the counters of the app `name`, whose folder in shared memory is about to go.
--- They come back.
function drops.withdraw(name)
  if published[name] then withdraw(name) end
end

--- `app` takes the place of `old`, and counts on from what that has dropped, and from
--- what is found later that it has.
function drops.inherit(app, old)
  totals[old] = totals[old] or {}
  totals[app] = totals[old]
end

local function publish(name, app)
  local entry = published[name]
  if not entry then
    entry = {app = app, counters = {}}
    published[name] = entry
  end
  for path in pairs(entry.counters) do counter.set(entry.counters[path], 0) end
  for reason, n in pairs(totals[app]) do
    local path = path_of(name, reason)
    entry.counters[path] = entry.counters[path] or counter.create(path)
    counter.add(entry.counters[path], n)
  end
end

--- Publish what the running `apps` have dropped.
function drops.publish(apps)
  if next(totals) == nil then return end
  for name, app in pairs(apps) do
    if totals[app] then publish(name, app) end
  end
end

return drops
