-- SPDX-License-Identifier: Apache-2.0
-- Errors that apps have raised while packets flowed, where the program went on: each is
-- reported once for an app and cause, and counted. In shared memory as
-- apps/NAME/errors_raised.counter, with errors_restarts and errors_bypassed (packets).

local counter = require("core.counter")
local shm = require("core.shm")

local errors = {}

local MOST_CAUSES = 20 -- of an app; more count as one
local OTHERS = "other errors"

-- By name: {raised =, restarts =, past =, bypass =, causes =, at = these by what is the
-- same in them, counters =}.
local by_app = {}

local function entry_of(name)
  by_app[name] = by_app[name]
    or {raised = 0, restarts = 0, past = {}, causes = {}, at = {}, counters = {}}
  return by_app[name]
end

--- The first line of an error's sentence, "app 'nat': in push(): nat.lua:7: no room",
--- without the app; and what is the same in all errors of its cause.
function errors.text_and_cause(sentence)
  local text = sentence:match("^[^\n]*"):gsub("^app '[^']+': ", "")
  -- The stack may end anywhere, and compiled code tells no place.
  local method = text:match("^(in [%w_]+%(%): ).*stack overflow$")
  if method then return text, method .. "stack overflow" end
  local place, rest = text:match("^(.-:%d+: )(.*)$")
  if not place then place, rest = "", text end
  return text, place .. rest:gsub("0x%x+", "#"):gsub("%d+", "#")
end

--- Note what the app `name` has raised, a sentence that may be followed by a traceback.
--- True if it is to be told: the first of its cause.
function errors.note(name, sentence)
  local entry = entry_of(name)
  entry.raised = entry.raised + 1
  local text, cause = errors.text_and_cause(sentence)
  if not entry.at[cause] and #entry.causes >= MOST_CAUSES then
    text, cause = OTHERS, OTHERS
  end
  local known = entry.at[cause]
  if known then
    known.count = known.count + 1
    return false
  end
  entry.at[cause] = {text = text, count = 1}
  table.insert(entry.causes, entry.at[cause])
  return true
end

--- The times of the app's latest restarts, a list for on_error.too_many.
function errors.past_restarts(name) return entry_of(name).past end

--- The app has been started again.
function errors.count_restart(name)
  local entry = entry_of(name)
  entry.restarts = entry.restarts + 1
end

--- Packets pass the app by, which `stand_in` counts as `passed`; nil: not any more.
function errors.bypassed_by(name, stand_in)
  local entry = entry_of(name)
  entry.before = (entry.before or 0) + (entry.bypass and entry.bypass.passed or 0)
  entry.bypass = stand_in
end

--- What was counted for the app: {raised =, restarts =, bypassed = packets, causes = a
--- list of {text =, count =}}; nil if it has raised nothing.
function errors.of(name)
  local entry = by_app[name]
  if not entry then return nil end
  return {raised = entry.raised, restarts = entry.restarts, causes = entry.causes,
    bypassed = (entry.before or 0) + (entry.bypass and entry.bypass.passed or 0)}
end

--- The same as lines for a report; `number` writes a number.
function errors.lines(name, number)
  local counted, lines = errors.of(name), {}
  if not counted then return lines end
  for i, cause in ipairs(counted.causes) do
    lines[i] = ("%s error%s: %s"):format(number(cause.count),
      cause.count == 1 and "" or "s", cause.text)
  end
  if counted.restarts > 0 then
    lines[#lines + 1] = ("started again: %s time%s"):format(number(counted.restarts),
      counted.restarts == 1 and "" or "s")
  end
  if counted.bypassed > 0 then
    lines[#lines + 1] = ("%s packets bypassed it"):format(number(counted.bypassed))
  end
  return lines
end

-- Shared memory ----------------------------------------------------------

--- Remove the counters of the app, whose folder there is about to go. They come back.
function errors.withdraw(name)
  local entry = by_app[name]
  for path in pairs(entry and entry.counters or {}) do
    pcall(counter.delete, path) -- it isn't ours any more after a fork
    entry.counters[path] = nil
  end
end

--- Forget apps that aren't among the running `apps` any more.
function errors.keep(apps)
  for name in pairs(by_app) do
    if not apps[name] then
      errors.withdraw(name)
      by_app[name] = nil
      if #shm.children("apps/" .. name) == 0 then shm.unlink("apps/" .. name) end
    end
  end
end

--- Publish what has been counted.
function errors.publish()
  for name, entry in pairs(by_app) do
    local counted = errors.of(name)
    for _, what in ipairs{"raised", "restarts", "bypassed"} do
      local path = ("apps/%s/errors_%s.counter"):format(name, what)
      entry.counters[path] = entry.counters[path] or counter.create(path)
      counter.set(entry.counters[path], counted[what])
    end
  end
end

return errors
