-- SPDX-License-Identifier: Apache-2.0
-- A router: the elements of a flat configuration, made, checked, configured and
-- initialized in Click's order, and run by Perigee's engine.
--
--   local r = router.new(flat, {errors = errors})       -- nil: the errors say why
--   r:run()                                             -- until it is stopped
--   r:close()
--
-- A flat configuration is what click.language makes of a text:
--   {elements = {{name=, class=, config=, landmark=}, ...},
--    connections = {{from=, output=, to=, input=}, ...}}
-- with elements counted from 1, and ports from 0.

local C = require("core.native")
local clock = require("click.router.clock")
local configure = require("click.router.configure")
local direct = require("click.router.direct")
local drain = require("core.engine.drain")
local element = require("click.element")
local engine = require("core.app")
local global_handlers = require("click.router.global_handlers")
local graph = require("click.router.graph")
local handlers = require("click.router.handlers")
local hookup = require("click.router.hookup")
local names = require("click.names")
local pulls = require("click.router.pulls")
local registry = require("click.registry")
local signals = require("click.router.signals")
local tasks = require("click.router.tasks")

local Router = {}
Router.__index = Router

local router = {}

-- Making -------------------------------------------------------------------

local function make_elements(self, flat, find_class, errors)
  for i, entry in ipairs(flat.elements) do
    local class = find_class(entry.class)
    if not class then
      errors:at(entry.landmark):error("unknown element class '%s'", entry.class)
      return false
    end
    local e = element.new(class, {
      name = entry.name, config = entry.config or "", landmark = entry.landmark,
      index = i, router = self,
    })
    self.elements[i], self.by_name[e.name] = e, e
  end
  return true
end

-- The elements in the order in which they are configured.
local function in_phases(elements)
  local order = {}
  for i, e in ipairs(elements) do order[i] = e end
  table.sort(order, function (a, b)
    if a.class.phase ~= b.class.phase then return a.class.phase < b.class.phase end
    return a.index < b.index
  end)
  return order
end

-- Call f(e) of each element, with errors about it below a heading; true if none came.
local function each(self, order, heading, f)
  local before = self.errors.count
  for _, e in ipairs(order) do
    e.errors = self.errors:at(e.landmark):context(heading .. " '%s':",
      hookup.declaration(e))
    f(e)
    local failed = self.errors.count > before or self.failed
    if heading == "While initializing" and failed then break end
  end
  return self.errors.count == before and not self.failed
end

local function index_connections(self)
  for _, e in ipairs(self.elements) do e.peers = {[false] = {}, [true] = {}} end
  local function add(e, is_output, port, far, far_port)
    local list = e.peers[is_output][port] or {}
    e.peers[is_output][port] = list
    list[#list + 1] = {element = far, port = far_port}
  end
  for _, c in ipairs(self.connections) do
    local from, to = self.elements[c.from], self.elements[c.to]
    add(from, true, c.output + 1, to, c.input + 1)
    add(to, false, c.input + 1, from, c.output + 1)
  end
end

local function assemble(self, flat, options)
  local errors = self.errors
  if not make_elements(self, flat, options.find_class or registry.find, errors) then
    return false
  end
  self.connections = hookup.check(self.elements, flat.connections, errors)
  if not self.connections then return false end
  index_connections(self)
  self.order = in_phases(self.elements)
  for _, e in ipairs(self.order) do signals.prepare(e) end
  pulls.connect(self)
  if not each(self, self.order, "While configuring", function (e)
    configure.element(e, e.config)
  end) then return false end
  self.handlers_ready = true
  return each(self, self.order, "While initializing", function (e) e:initialize() end)
end

--- The router of a flat configuration, or nil if it can't be made: `options.errors`, a
--- collector of click.errors, is told why. Other options: simtime (simulated time,
--- which begins so many seconds after 1970), old (the router that this one is going to
--- replace), find_class (a function from names to classes), variables, threads,
--- allow_reconfigure.
function router.new(flat, options)
  local self = setmetatable({
    flat = flat, options = options, errors = options.errors, old = options.old,
    elements = {}, by_name = {}, names = names.new(), tasks = tasks.new(),
    runcount = 1, meters = {}, turned = 0, polls = {}, frequent_polls = {}, polled = 0,
    clock = options.old and options.old.clock
      or clock.new{simulated = options.simtime},
    global_handlers = setmetatable({}, {__index = global_handlers}),
  }, Router)
  self.root = {name = "", router = self}
  if assemble(self, flat, options) then
    self.ready_at = self.clock:peek()
    return self
  end
  self.errors:error("Router could not be initialized!")
  self:close()
  return nil
end

-- What elements use --------------------------------------------------------

--- Report an error or a warning ("error", "warning") about an element.
function Router:complain(e, kind, fmt, ...)
  local reporter = e.errors or self.errors
  reporter[kind](reporter, fmt, ...)
end

--- Call f(); the errors about the element that it reports, as one text, or nil.
function Router:collect(e, f)
  local texts, former = {}, e.errors
  local function take(_, fmt, ...)
    texts[#texts + 1] = select("#", ...) > 0 and fmt:format(...) or fmt
  end
  local function warn(_, fmt, ...)
    self:say(("While configuring '%s':"):format(hookup.declaration(e)))
    self:say("  warning: " .. fmt:format(...))
  end
  e.errors = {error = take, warning = warn}
  f()
  e.errors = former
  return #texts > 0 and table.concat(texts, "\n") or nil
end

--- Print a line on standard error.
function Router:say(text)
  if self.options.say then return self.options.say(text) end
  io.stdout:flush()
  io.stderr:write(text, "\n")
end

--- Print text on standard output.
function Router:print(text) -- luacheck: no unused args
  io.stdout:write(text)
end

--- The element of that name as the element `near` sees it: in its own compound element
--- first, then in those around that.
function Router:find(name, near)
  local scope = near and near.name:match("^(.*/)") or ""
  while true do
    local e = self.by_name[scope .. name]
    if e or scope == "" then return e end
    scope = scope:match("^(.*/)[^/]*/$") or ""
  end
end

--- The elements of a class, by its name, in order.
function Router:elements_of(class_name)
  local list = {}
  for _, e in ipairs(self.elements) do
    if e.class.name == class_name then list[#list + 1] = e end
  end
  return list
end

--- What the element's port is connected to: a list of {element =, port =}, ports from
--- 1.
function Router:joined(e, is_output, port) -- luacheck: no unused args
  return e.peers[is_output][port] or {}
end

--- A task that calls f(), which says whether it did some work; see click.router.tasks.
function Router:task(f) return self.tasks:make(nil, f) end

--- The element's own task, which calls e:task().
function Router:task_of(e)
  local task = rawget(e, "own_task")
  if not task then
    task = self.tasks:make(e, e.class.task)
    e.own_task = task
  end
  return task
end

function Router:schedule(e) self:task_of(e):schedule() end
function Router:unschedule(e) self:task_of(e):unschedule() end
function Router:is_scheduled(e) return self:task_of(e):scheduled() end

--- A timer that calls f(timer): t:after(seconds), t:at(time), t:unschedule(), and so
--- on.
function Router:timer(f) return self.clock:timer(f) end

--- Seconds since 1970, and on the clock that nobody sets; nanoseconds since 1970.
function Router:now() return self.clock:now() end
function Router:steady() return self.clock:steady() end
function Router:nanoseconds() return self.clock:nanoseconds() end

--- The signals upstream of the element's input `i`, a list: it needn't pull while none
--- is active (signals.any). The element is scheduled, or wake() is called, when one
--- becomes active.
function Router:signals(e, i, wake)
  return signals.find(self, e, i, "empty", wake or function () e:schedule() end)
end

--- The same downstream of output `o`: it needn't push while none is active.
function Router:full_signals(e, o, wake)
  return signals.find(self, e, o, "full", wake or function () e:schedule() end)
end

--- Is one of these signals active?
Router.any = function (_, list) return signals.any(list) end

--- Sample a rate (click.rates) while the router runs.
function Router:meter(rate) table.insert(self.meters, rate) end

--- When the present turn of the driver began, in seconds on the steady clock: costs
--- nothing, and is exact enough for what lasts.
function Router:turn_time() return self.turned end

--- Call f() about a thousand times a second (of real time, also where time is
--- simulated) while the router runs; nil: no more. `key` is whose it is.
function Router:poll(key, f) self.polls[key] = f end

--- The same in each turn of the driver.
function Router:poll_often(key, f) self.frequent_polls[key] = f end

-- Handlers -----------------------------------------------------------------

--- The value of "element.handler ARGUMENTS", as the element `near` names it; or nil and
--- what is wrong.
function Router:handler_read(text, near)
  local name, arguments = handlers.split(text)
  local e, rest = handlers.resolve(self, name, near)
  if not e then return nil, rest end
  return handlers.read(self, e, rest, arguments)
end

--- Write `text` to "element.handler"; true, or false and what is wrong.
function Router:handler_write(name, text, near)
  local e, rest = handlers.resolve(self, name, near)
  if not e then return false, rest end
  return handlers.write(self, e, rest, text)
end

--- A function that writes to "element.handler VALUE", or nil and what is wrong.
function Router:writer(text, near) return handlers.writer(self, text, near) end

-- Running ------------------------------------------------------------------

--- Ask the driver to stop, `n` times (1): a DriverManager may go on.
function Router:stop(n) self.runcount = self.runcount - (n or 1) end

--- Go on after a stop.
function Router:adjust_runcount(n) self.runcount = self.runcount + n end

local MOST_STEPS = 1000

--- Has the driver stopped for good? The element that manages stops, router.manager, is
--- asked first: stopped() returns true if it took one.
function Router:has_ended()
  if self.runcount > 0 then return self.ended end
  local manager = self.manager
  for _ = 1, manager and MOST_STEPS or 0 do
    if self.ended or not manager:stopped() or self.runcount > 0 then break end
  end
  self.ended = self.ended or self.runcount <= 0
  return self.ended
end

local METER_SECONDS = 0.01

-- Note the time, and sample rates now and then.
function Router:begin_turn()
  local now = self.clock:peek()
  self.turned = now
  if now - (self.metered or -1) < METER_SECONDS then return end
  self.metered = now
  for _, rate in ipairs(self.meters) do rate:sample(now) end
end

local POLL_SECONDS = 0.001

local function poll_all(self)
  for _, f in pairs(self.frequent_polls) do f() end
  if not next(self.polls) then return end
  local now = C.pg_now()
  if now - self.polled < POLL_SECONDS then return end
  self.polled = now
  for _, f in pairs(self.polls) do f() end
end

local TURNS = 128 -- of tasks, before timers are looked at

--- Let tasks and timers run; true if there was something to do.
function Router:turn()
  self:begin_turn()
  poll_all(self)
  local function stopped() return self.runcount <= 0 end
  local worked = self.tasks:run(TURNS, stopped)
  if self.runcount > 0 and self.clock:run() > 0 then worked = true end
  if not worked and self.runcount > 0 and not self.tasks:active() then
    worked = self.clock:jump()
  end
  return worked
end

--- Make it the one that runs: it takes over from `old`, if it replaces one.
function Router:activate()
  local old = self.old
  self.old = nil
  if self.options.direct then direct.connect(self)
  else engine.configure(graph.configuration(self)) end
  -- The engine's start isn't part of the time that elements wait for.
  if not old then self.clock:delay(self.clock:peek() - self.ready_at) end
  if not old then return end
  old.tasks:clear()
  for _, e in ipairs(self.order) do
    local former = old.by_name[e.name]
    if former and former.class == e.class and e.take_state then e:take_state(former) end
  end
  old:close()
end

-- What the engine asks after each breath. It may sleep if there is nothing to do.
local function run_turn(self)
  if self:has_ended() then return true end
  engine.busywait = self:turn()
  return self:has_ended()
end

local function run_engine(self)
  engine.main{no_report = true, measure_latency = false, done = function ()
    return run_turn(self)
  end}
  engine.busywait = false
  drain.here()
  drain.release()
  engine.sync(true)
end

--- Run until it ends.
function Router:run()
  self:activate()
  if not self.options.direct then return run_engine(self) end
  while not self:has_ended() do self:turn() end
end

--- Clean up: elements free what they hold.
function Router:close()
  if self.closed then return end
  self.closed, self.ended = true, true
  self.tasks:clear()
  for i = #(self.order or {}), 1, -1 do self.order[i]:cleanup() end
end

return router
