-- SPDX-License-Identifier: Apache-2.0
-- What elements share that check headers: they count good packets and bad ones, report
-- the first bad one (VERBOSE: of each), and with DETAILS count them by reason.

local element = require("click.element")
local luajit = require("core.luajit")

local checks = {}

--- The arguments that they all have.
checks.arguments = {
  {"VERBOSE", "bool", default = false, keyword = true},
  {"DETAILS", "bool", default = false, keyword = true},
}

--- Take these arguments, and begin to count.
function checks.configure(e, a)
  e.verbose, e.details = a.VERBOSE, a.DETAILS
  e.count, e.bad, e.bad_before = 0, 0, 0
  e.reasons = {}
  for i = 1, #e.drops do e.reasons[i] = 0 end
end

--- How many packets were good. An element with make_process(), of which the engine
--- counts the packets, has all others in e.count, good or bad.
function checks.good(e)
  if not e.make_process then return e.count end
  return e.count + e:arrivals() - (e.bad - e.bad_before)
end

local function tell(e, reason)
  e:say(e.complaint, e:title(), e.drops[reason])
end

--- What process() returns for a bad packet, by the number of the reason in e.drops: it
--- leaves by the second output, or is dropped.
function checks.fail(e, p, reason)
  if e.bad == 0 or e.verbose then tell(e, reason) end
  e.bad = e.bad + 1
  local reasons = e.reasons
  reasons[reason] = reasons[reason] + 1
  if e.noutputs == 2 then return p, 2 end
  return nil, reason
end

local function details(e)
  if not e.details then return "" end
  local lines = {}
  for i, name in ipairs(e.drops) do
    lines[i] = ("%15d packets due to: %24s\n"):format(e.reasons[i], name)
  end
  return table.concat(lines)
end

--- The handlers that they all have.
checks.handlers = {
  count = {read = function (e) return ("%d"):format(checks.good(e)) end},
  drops = {read = function (e) return ("%d"):format(e.bad) end},
  drop_details = {read = details},
}

--- Go on counting where `old` stopped.
function checks.take_state(e, old)
  e.count, e.bad, e.bad_before = checks.good(old), old.bad, old.bad
  for i, n in ipairs(old.reasons) do e.reasons[i] = n end
end

--- Make the class one of them: give it `handlers`, title() and take_state().
function checks.attach(class)
  for name, handler in pairs(checks.handlers) do class.handlers[name] = handler end
  class.take_state = checks.take_state
  class.title = class.title
    or function (e) return ("%s :: %s"):format(e.name, e.class.name) end
  return class
end

--- Give the class process() and make_process(). bind(e) returns a function examine(p)
--- for the element's settings, which says what is wrong with a packet: the number of a
--- drop, or nil.
function checks.examine_by(class, bind)
  function class:make_process()
    local examine = luajit.copy(bind(self))
    return function (_, p)
      local problem = examine(p)
      if problem then
        local q, o = checks.fail(self, p, problem)
        return q, o
      end
      return p
    end
  end

  function class:process(p)
    self.count = self.count + 1
    self.judge = self.judge or self:make_process()
    local q, o = self:judge(p)
    return q, o
  end
end

--- A class of them (element.define) of which examine(p, sum) says what is wrong with a
--- packet, the number of a drop or nil; `sum`: the field of that name of the element.
function checks.define(class, examine)
  class.ports, class.processing, class.division = "1/1-2", "a/ah", "any"
  class.configure = class.configure or checks.configure
  class = checks.attach(element.define(class))
  checks.examine_by(class, function (e)
    local sum = e.sum
    return function (p) return examine(p, sum) end
  end)
  return class
end

return checks
