-- SPDX-License-Identifier: Apache-2.0
-- What elements ask their router for: other elements, time, tasks, timers, signals,
-- handlers, and to print messages.

local chatter = require("click.chatter")
local handlers = require("click.router.handlers")
local hookup = require("click.router.hookup")
local signals = require("click.router.signals")
local waking = require("core.idle.waking")

local Router = {}

-- Messages -----------------------------------------------------------------

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
  if not self.options.say then return chatter.say(text) end
  self.options.say(text)
  chatter.tell(text)
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

local function add_nearest(router, e, is_output, f, port, list, seen)
  for i = port or 1, port or (is_output and e.noutputs or e.ninputs) do
    for _, far in ipairs(router:joined(e, is_output, i)) do
      local other = far.element
      if not seen[other] then
        seen[other] = true
        if f(other) then
          list[#list + 1] = other
        else
          add_nearest(router, other, is_output, f, nil, list, seen)
        end
      end
    end
  end
  return list
end

--- The nearest elements behind the element's outputs, or in front of its inputs, for
--- which f(element) is true, a list; beyond them isn't looked. `port`: that one only.
function Router:nearest(e, is_output, f, port)
  return add_nearest(self, e, is_output, f, port, {}, {})
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

--- Let the tasks of elements that can wait (class.task_can_wait) do nothing, or go on.
function Router:hold_back(yes)
  for _, e in ipairs(self.elements) do
    if e.class.task_can_wait then self:task_of(e):hold(yes) end
  end
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

--- Both as one object, whose `active` is to be looked at.
function Router:gate(e, i, wake) return signals.gate(self:signals(e, i, wake)) end
function Router:full_gate(e, o, wake)
  return signals.gate(self:full_signals(e, o, wake))
end

--- Is one of these signals active?
Router.any = function (_, list) return signals.any(list) end

--- Sample a rate (click.scheduling.rates) while the router runs.
function Router:meter(rate) table.insert(self.meters, rate) end

--- When the present turn of the driver began, in seconds on the steady clock: costs
--- nothing, and is exact enough for what lasts.
function Router:turn_time() return self.turned end

local function nothing_tells() return {}, false end

-- The list of functions with f in the place of the one of that key, or without it.
local function with(list, key, f, descriptors)
  local result = {keys = {}, descriptors = {}}
  local function add(a_key, a_function, of)
    result[#result + 1] = a_function
    result.keys[#result], result.descriptors[#result] = a_key, of
  end
  for i, other in ipairs(list) do
    if list.keys[i] ~= key then add(list.keys[i], other, list.descriptors[i]) end
  end
  if f then add(key, f, descriptors or nothing_tells) end
  return result
end

--- Call f() about a thousand times a second (of real time, also where time is
--- simulated) while the router runs; nil: no more. `key` is whose it is. An idle router
--- leaves it at 5 times a second and when one of the descriptors is readable, if
--- descriptors() returns an array of them and true: they tell of all there is.
function Router:poll(key, f, descriptors)
  self.polls, self.polling = with(self.polls, key, f, descriptors), true
  self:poll_changed()
end

--- What descriptors() of a poll() returns may have changed.
function Router:poll_changed()
  self.poll_known = false
  if self.active and not self.options.direct then waking.changed() end
end

--- poll() the server (lib.sockets) of that key.
function Router:serve(key, server)
  self:poll(key, function ()
    if server:poll() then self:poll_changed() end
  end, function () return server:descriptors() end)
end

--- The descriptors that wake the router, an array.
function Router:poll_descriptors()
  local list, all, fds = self.polls, true, {}
  for i = 1, #list do
    local some, tells = list.descriptors[i]()
    all = all and tells
    for _, fd in ipairs(some) do fds[#fds + 1] = fd end
  end
  self.poll_known, self.poll_waits = true, all
  return fds
end

--- Do they tell of all that poll() was called for?
function Router:poll_can_wait()
  if not self.poll_known then self:poll_descriptors() end
  return self.poll_waits
end

--- The same in each turn of the driver.
function Router:poll_often(key, f)
  self.frequent_polls, self.polling = with(self.frequent_polls, key, f), true
end

-- Handlers -----------------------------------------------------------------

--- The value of "element.handler ARGUMENTS", as the element `near` names it; or nil and
--- what is wrong.
function Router:handler_read(text, near)
  local name, arguments = handlers.split(text)
  local e, rest = handlers.resolve(self, name, near)
  if not e then return nil, rest end
  return handlers.read(self, e, rest, arguments)
end

--- Has the element a read handler of that name?
function Router:can_read(e, name)
  local h = handlers.find(self, e, name)
  return h ~= nil and h.read ~= nil
end

--- Is "element.handler" one that is written?
function Router:can_write(name)
  local e, rest = handlers.resolve(self, name)
  local h = e and handlers.find(self, e, rest)
  return h ~= nil and h.write ~= nil
end

--- Write `text` to "element.handler"; true, or false and what is wrong.
function Router:handler_write(name, text, near)
  local e, rest = handlers.resolve(self, name, near)
  if not e then return false, rest end
  return handlers.write(self, e, rest, text)
end

--- A function that writes to "element.handler VALUE", or nil and what is wrong.
function Router:writer(text, near) return handlers.writer(self, text, near) end

return Router
