-- SPDX-License-Identifier: Apache-2.0
-- What can wake this engine (native/dpdk/wait.c): the descriptors of its ports and of
-- visitors. A graph can sleep until then if all its apps only have to do with packets
-- that come by such ports; else it is looked at as often as ever.

local C = require("core.native")
local outside = require("core.outside.visitors")

local waking = {}

--- The longest sleep, in seconds; and where nothing has come for long.
waking.LONGEST_SECONDS, waking.LONGEST_AT_REST = 0.2, 0.5

local apps, region_with, called_before = {}, {}, {}
local stale, problem, longest = true, "not known yet", 0
local notified, listening = {}, false -- apps whose peers can tell; do they now?
local may_be_restless = {} -- apps that have to do without packets at times
local paced = {} -- apps that know when
local pending = {n = 0}

-- Ask no peer any more: only those of the apps in the set `there` (nil: all) are there.
local function forget_notified(there)
  for i = 1, #notified do
    local app = notified[i]
    if listening and (not there or there[app]) then app:notify(false) end
  end
  notified, listening = {}, false
end

--- The graph is another one: its apps by name; those in regions (a set); those of which
--- a region calls something in each breath (a set); and the links in which packets may
--- wait between breaths, an array.
function waking.arrange(all, in_regions, before, links)
  local there = {}
  for _, app in pairs(all) do there[app] = true end
  forget_notified(there)
  apps, region_with, called_before = all, in_regions, before
  pending = {n = 0}
  local seen = {}
  for i = 1, #links do
    local address = tostring(links[i])
    if not seen[address] then
      seen[address] = true
      pending.n = pending.n + 1
      pending[pending.n] = links[i]
    end
  end
  stale = true
end

--- The links in which packets may wait, an array with its length as `n`.
function waking.links() return pending end

--- Descriptors of a port or visitor have changed.
function waking.changed() stale = true end

-- Why the app has to be called in every breath, or nil.
local function reason(name, app)
  if app.wake_fds or app.due_at then return nil end
  if app.pull and not app.needs_packets then return "it has a pull()" end
  if called_before[name] then return "its push() does something in each breath" end
  if app.push and not (app.needs_packets or region_with[name]) then
    return "its push() may have to do without packets"
  end
  if app.push_link and not app.needs_packets then return "it has a push_link()" end
end

-- How long the app can do without tick(), which is called so often a second.
local function seconds_of(app, tick_Hz)
  if not app.tick or tick_Hz <= 0 then return math.huge end
  return app.tick_seconds or 1 / tick_Hz
end

-- A descriptor that has just gone isn't there: its app tells of the change soon.
local function add_port(name, app)
  local fds, why = app:wake_fds()
  if not fds then return ("app '%s': %s"):format(name, why) end
  for i = 1, #fds do
    if C.pg_wait_add(fds[i], C.WOKEN_BY_PORT, fds.counts or false) < 0 then
      return ("app '%s': its descriptor can't be waited for"):format(name)
    end
  end
  -- (Also where no peer has come yet: notify() is what sees that one has.)
  if app.notify and (fds.counts or fds.bell) then notified[#notified + 1] = app end
end

local function collect(tick_Hz)
  for _, app in pairs(apps) do
    if app.due_at then paced[#paced + 1] = app end
  end
  if C.pg_wait_clear() < 0 then return "there are no descriptors left" end
  for name, app in pairs(apps) do
    local why = reason(name, app)
    if why then return ("app '%s': %s"):format(name, why) end
    longest = math.min(longest, seconds_of(app, tick_Hz))
    if app.restless ~= nil then may_be_restless[#may_be_restless + 1] = app end
    why = app.wake_fds and add_port(name, app)
    if why then return why end
  end
  for _, fd in ipairs(outside.descriptors()) do
    C.pg_wait_add(fd, C.WOKEN_BY_VISITOR, false)
  end
end

-- Called seldom: when the graph or a descriptor has changed. The rest is called for
-- each packet where these come far apart.
for _, f in ipairs{reason, seconds_of, add_port, collect, forget_notified,
                   waking.arrange} do
  jit.off(f)
end

local function look_at_graph(tick_Hz)
  forget_notified()
  stale, longest = false, waking.LONGEST_AT_REST
  may_be_restless, paced = {}, {}
  problem = collect(tick_Hz)
end
jit.off(look_at_graph)

--- Has the graph apps that do things at a time (their due_at()), so that it is to be
--- looked at without a pause where it can't sleep until something happens?
function waking.is_paced(tick_Hz)
  if stale then look_at_graph(tick_Hz) end
  return #paced > 0
end

--- When the first of these apps has to be called though no packet comes, as seen `now`.
function waking.due(now)
  local due = math.huge
  for i = 1, #paced do due = math.min(due, paced[i]:due_at(now)) end
  return due
end

--- Can the engine sleep until something happens, where tick() is called `tick_Hz` times
--- a second? How long at most, in seconds; or nil and why not.
function waking.look(tick_Hz)
  if stale then look_at_graph(tick_Hz) end
  if problem then return nil, problem end
  for i = 1, #may_be_restless do
    local app = may_be_restless[i]
    if app.restless then
      return nil, ("app '%s': it has to do without packets now"):format(app.appname)
    end
  end
  return longest
end

--- Let the peers of ports say when something comes. True if they have been told just
--- now: what came before that is seen only by another look.
function waking.listen()
  if listening or #notified == 0 then return false end
  listening = true
  for i = 1, #notified do notified[i]:notify(true) end
  return true
end

--- The engine looks by itself: peers needn't tell of packets any more.
function waking.stop_listening()
  if not listening then return end
  listening = false
  for i = 1, #notified do notified[i]:notify(false) end
end

return waking
