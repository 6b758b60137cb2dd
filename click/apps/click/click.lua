-- SPDX-License-Identifier: Apache-2.0
-- Click: a configuration of Click's as an app of a Lua program. Its `input` and
-- `output` are links of the app. The engine has it expand to apps, one for each
-- element, so that paths through it are fused with what is before and behind
-- (core.engine.expand).

local failure = require("core.failure")
local lib = require("core.lib")
local moving = require("click.flow.moving")
local part = require("apps.click.part")
local run_out = require("click.router.run_out")

local Click = {config = {
  file = {}, text = {}, variables = {default = {}}, devices = {default = {}},
  -- {number =, of =, shared = {[PORT STRING] = NUMBER}}: this one of several, with a
  -- queue of each device, or the links rxNUMBER and txNUMBER for it; moves = true:
  -- flows move between them (core.cpus.balancer)
  copy = {},
  -- {number =, of = {ELEMENT = NUMBER}, passing = {ELEMENT = {NUMBER, ...}}}: only the
  -- elements of that thread; by the threads whose packets pass each, if there are any.
  -- sharing: so many threads' parts run on its CPU
  thread = {},
  more = {default = {}}, -- elements beside the text's: {class =, name =, config =}
}}
Click.__index = Click

-- A configuration as it runs: {key =, router =, part =}. Only its `key` tells it from
-- others: with a metatable, the engine compares it by ==.
local Entry = {}

-- What runs of the app, by its name; and what is to run next.
local running, pending = {}, {}
local elsewhere = {} -- by app: {find =, handlers =}, of all threads' elements

-- The app of that name in the engine: it runs the router's tasks and timers.
local Driver = {}
Driver.__index = Driver

--- Raises a usage error if there is neither a file nor a text.
function Click.check_arg(arg)
  if (arg.file ~= nil) == (arg.text ~= nil) then
    failure.usage("a Click app needs a file or a text, and not both")
  end
end

--- It never is made itself.
function Click.new() failure.raise("a Click app runs only within the engine") end

--- The part that takes the place of the app `name`.
function Click.expand(arg, name)
  Click.check_arg(arg)
  local text, file = part.source(arg, name)
  local key = {text = text, arg = arg}
  for _, known in pairs{pending[name] or false, running[name] or false} do
    if known and lib.equal(known.key, key) then return known.part end
  end
  local old = running[name] and running[name].router
  local router = part.router(text, file, arg, name, old)
  local others = elsewhere[name] or {}
  router.elsewhere = others.find
  for which, h in pairs(others.handlers or {}) do router.global_handlers[which] = h end
  router.passes_stops_on = (arg.thread and arg.thread.number or 0) > 0
  local entry = setmetatable({key = key, router = router}, Entry)
  entry.part = part.of(router, name, {class = Driver, arg = entry})
  pending[name] = entry
  return entry.part
end

-- The driver -------------------------------------------------------------------------

local function take_over(self, entry)
  entry.router:begin()
  self.entry, self.router = entry, entry.router
  if self.held then self.router:hold_back(true) end
end

-- A ring to another thread's CPU is full (core.move.intake).
Driver.can_wait = true
function Driver:hold_back(yes)
  self.held = yes
  if self.router then self.router:hold_back(yes) end
end

function Driver:new(entry)
  return setmetatable({next = entry}, self)
end

function Driver:link() end

--- Another configuration, in the place of the one that runs.
function Driver:reconfig(entry) self.next = entry end

-- Elements send packets as soon as the router runs: when all links are there.
local function settle(self)
  local name = self.appname
  take_over(self, self.next)
  running[name], pending[name], self.next = self.entry, nil, nil
end

--- Let tasks and timers run.
function Driver:pull()
  if self.next then
    if self.next == self.entry then self.next = nil
    else settle(self) end
  end
  local router = self.router
  if not router:has_ended() then router:turn() end
end

--- The value of the handler "element.handler", as text; or nil and what is wrong.
function Driver:read(handler) return self.router:handler_read(handler) end

--- Write `text` to the handler "element.handler"; true, or false and what is wrong.
function Driver:write(handler, text) return self.router:handler_write(handler, text) end

--- Has the configuration stopped? (Packets that come are still dealt with.)
function Driver:ended() return self.router ~= nil and self.router:has_ended() end

function Driver:stop()
  local name = self.appname
  if self.router then self.router:close() end
  if running[name] and running[name].router == self.router then running[name] = nil end
end

-- Parts of one router -----------------------------------------------------------------

local M = {Click = Click}

--- Let the router of the app `name` have the method `find` for elements elsewhere
--- (click.router.handlers), and these handlers for its own.
function M.look_elsewhere(name, find, own)
  elsewhere[name] = {find = find, handlers = own}
end

-- The router of the app, which may not have breathed yet.
local function router_of(name) return (running[name] or pending[name]).router end

-- For who asks from another Lua state, with a table:

--- {text =, problem =} of the read handler `handler` of the app `app`.
function M.read(a)
  local text, problem = router_of(a.app):handler_read(a.handler)
  return {text = text ~= nil and tostring(text) or nil, problem = problem}
end

--- {ok =, problem =} of writing `text` there.
function M.write(a)
  local router = router_of(a.app)
  local called, ok, problem = pcall(router.handler_write, router, a.handler, a.text)
  if not called then ok, problem = false, tostring(ok) end
  return {ok = ok, problem = problem}
end

--- Let go of flows, or take flows that another copy has let go of (click.flow.moving);
--- `app` is the app's name.
function M.give_flows(a) return moving.give(router_of(a.app), a.buckets) end
function M.take_flows(a) return moving.take(router_of(a.app), a.given) end

--- How often have these apps, of other threads than 0, been asked to stop since the
--- last call?
function M.take_stops(names)
  local n = 0
  for _, name in ipairs(names) do
    if running[name] then n = n + running[name].router:take_stops() end
  end
  return n
end

--- How far these apps, parts of one router, are with the files that they read
--- (click.router.run_out): {STATE = how many of them}; those without files are
--- "resting" when nothing is on its way.
function M.progress(names)
  local states = {}
  for _, name in ipairs(names) do
    local entry = running[name]
    local state = not entry and "starting" or run_out.state(entry.router)
      or run_out.is_waiting(entry.router) and "passing on" or "resting"
    states[state] = (states[state] or 0) + 1
  end
  return states
end

--- Raise a failure if a file that these apps have read is damaged where it ends.
function M.check_files(names)
  for _, name in ipairs(names) do
    if running[name] then run_out.check(running[name].router) end
  end
end

-- For the thread with the scripts:

--- Ask the app `name` to stop, `n` times; has it stopped for good?
function M.stop(name, n)
  if not running[name] then return false end
  local router = running[name].router
  if n > 0 then router:stop(n) end
  return router:has_ended()
end

--- A signal has ended the run: the DriverManager of app `name` goes on to its end.
function M.interrupt(name)
  if running[name] then running[name].router:interrupt() end
end

return M
