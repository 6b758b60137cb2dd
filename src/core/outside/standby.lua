-- SPDX-License-Identifier: Apache-2.0
-- A process that stands by (--standby) does all that can be done while the other one
-- runs, and is held back before it opens what that one holds: ports, sockets, files.
-- What it waits for is for net.keep.standby to say.

local clock = require("core.lib.clock")
local failure = require("core.lib.failure")
local log = require("core.lib.log")
local outside = require("core.outside.visitors")

local standby = {}

local wait          -- returns when the turn is this process's; nil: nothing to wait for
local gone          -- returns once the other process has closed all; nil: it has
local before = {}   -- what is to be done before this process waits
local first = {}    -- what is to be done before this process opens anything
local later = {}    -- what is left to do then
local began         -- when it was its turn, clock.seconds()

--- From now on this process stands by: pass() calls f(), which returns once it is to
--- take over. What f() returns is called where what the other process had open must be
--- closed.
function standby.begin(f) wait = f end

--- This process needn't wait, but f(), optional, returns once the one before it, which
--- is ending, has closed all.
function standby.await(f) gone = f end

--- Wait until the other process, which is ending, has closed all that it had.
function standby.await_end()
  local await = gone
  gone = nil
  if await then await() end
end

--- Is this process held back?
function standby.waits() return wait ~= nil end

--- Call f(argument), or f(), once this process isn't held back: now, or right after it
--- takes over. What fails then is a warning; packets come first.
function standby.after(f, argument)
  if not wait then return f(argument) end
  later[#later + 1] = function () f(argument) end
end

--- Call f() before this process waits for its turn, if it ever does.
function standby.before_waiting(f) before[#before + 1] = f end

--- Call f() once it is this process's turn, before it opens what the other one had; if
--- it doesn't stand by, never.
function standby.at_turn(f)
  if wait then first[#first + 1] = f end
end

--- Call f() when the process takes over, if it stood by; else never.
function standby.at_takeover(f)
  if wait or began then later[#later + 1] = f end
end

--- Before pass(): of a configuration that is to run check(new, ...) finds what is
--- wrong, and its apps make ready what they can beside the other process
--- (class.make_ready(arg)). False: it can't run as things are now, but maybe later;
--- that is a warning, and the process is held back at once.
function standby.look(check, new, ...)
  local ok, err = pcall(check, new, ...)
  if not ok then
    if not (failure.is(err) and err.status == 1) then error(err, 0) end
    log.warning("as things are now this process could not take over: %s", tostring(err))
  end
  for _, app in pairs(new.apps) do
    if app.class.make_ready then pcall(app.class.make_ready, app.arg) end
  end
  if not ok then standby.pass() end
  return ok
end

--- The names of the configuration's apps that can't start beside the other process: a
--- set, empty if this process isn't held back.
function standby.held_back(new)
  local names = {}
  for name, app in pairs(wait and new.apps or {}) do
    if app.class.make_ready then names[name] = true end
  end
  return names
end

--- For core.lib.meanwhile: there is nothing to go on with.
function standby.pause() end

--- The process is about to open what only one can have: if it stands by, it is held
--- back here.
function standby.pass()
  if not wait then return end
  for _, f in ipairs(before) do f() end
  gone = wait()
  wait, began = nil, clock.seconds()
  for _, f in ipairs(first) do f() end
  first = {}
end

local visitor = {}

-- The engine's main loop is about to begin.
function visitor.begin()
  if not began then return end
  log.info("took over in %.1f ms", 1000 * (clock.seconds() - began))
  began = nil
  for _, f in ipairs(later) do
    local ok, err = pcall(f)
    if not ok then log.warning("after taking over: %s", tostring(err)) end
  end
  later = {}
end

outside.let_in(visitor)

return standby
