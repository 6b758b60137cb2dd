-- SPDX-License-Identifier: Apache-2.0
-- Timers on a wheel of 1 ms ticks. Where time is the clock's, which run() reads, a
-- timer counts from when it is activated, however long ago the last run was (Snabb's
-- counts from that run, and so goes off early). Tests set `ticks` and drive time with
-- run_to_time: there the clock isn't looked at.

local clock = require("core.lib.clock")
local ceil, floor = math.ceil, math.floor

local timer = {}

--- The present, in ticks; false until the first timer is activated.
timer.ticks = false
--- Nanoseconds a tick.
timer.ns_per_tick = 1e6
--- Tick -> array of the timers due then.
timer.timers = {}

local from_clock -- timer.ticks, if the clock has said so

-- The tick from which a timer counts that is activated now.
local function present()
  if timer.ticks and timer.ticks ~= from_clock then return timer.ticks end
  local now = floor(clock.nanoseconds() / timer.ns_per_tick)
  if not timer.ticks then timer.ticks, from_clock = now, now end
  return math.max(timer.ticks, now)
end

--- A timer called `name`, not yet active, that will call fn(timer) `nanos` nanoseconds
--- after it is activated, and again each time that passes if `mode` is "repeating".
function timer.new(name, fn, nanos, mode)
  return {
    name = name, fn = fn, ticks = ceil(nanos / timer.ns_per_tick),
    repeating = mode == "repeating",
  }
end

local function put(t)
  local due = timer.timers[t.next_tick]
  if due then
    due[#due + 1] = t
  else
    timer.timers[t.next_tick] = {t}
  end
end

local function activate(t, from)
  t.next_tick = from + t.ticks
  put(t)
end

--- Start the timer `t`, which must not be active.
function timer.activate(t)
  if t.next_tick then error(("timer '%s' is active already"):format(t.name), 2) end
  activate(t, present())
end

--- Stop the timer `t`; true if it was active. It isn't called any more, even if it is
--- due in the same tick as the timer whose function cancels it.
function timer.cancel(t)
  local due = timer.timers[t.next_tick or false]
  local was_active = t.next_tick or t.repeats
  t.next_tick, t.repeats = nil, nil
  for i = 1, due and #due or 0 do
    if due[i] == t then
      table.remove(due, i)
      break
    end
  end
  return was_active and true or nil
end

-- While the timers of a tick are called they are off the wheel: those activated for
-- the same tick meanwhile wait for the next tick or run. `next_tick` tells those that
-- were cancelled. `repeats` is set while a repeating timer's function runs, unless that
-- cancels its own timer.
local function call_timers(due, tick)
  for i = 1, #due do
    local t = due[i]
    if t.next_tick == tick then
      t.next_tick, t.repeats = nil, t.repeating or nil
      t.fn(t)
      if t.repeats and not t.next_tick then activate(t, tick) end -- in its rhythm
      t.repeats = nil
    end
  end
end

-- Move the timers that were activated for `tick` while its timers were called to the
-- next tick, which is still to come in this run.
local function put_off(tick)
  local rest = timer.timers[tick]
  if not rest then return end
  timer.timers[tick] = nil
  for _, t in ipairs(rest) do
    t.next_tick = tick + 1
    put(t)
  end
end

local function run_to(ns, is_clock)
  local last = floor(tonumber(ns) / timer.ns_per_tick)
  for tick = timer.ticks or last, last do
    timer.ticks, from_clock = tick, is_clock and tick or nil
    local due = timer.timers[tick]
    if due then
      timer.timers[tick] = nil
      call_timers(due, tick)
      if tick < last then put_off(tick) end
    end
  end
end

--- Call, in order, the timers that are due up to the time `ns` (nanoseconds).
function timer.run_to_time(ns) run_to(ns, false) end

--- Seconds from the last run to when the next timer is due; `most` if that is later.
function timer.due_within(most)
  if not timer.ticks or not next(timer.timers) then return most end
  local seconds_per_tick = timer.ns_per_tick * 1e-9
  for i = 0, floor(most / seconds_per_tick) do
    if timer.timers[timer.ticks + i] then return i * seconds_per_tick end
  end
  return most
end

--- Call the timers that are due now.
function timer.run()
  if timer.ticks then run_to(clock.nanoseconds(), true) end
end

return require("core.lib.arguments").guard(timer, "timer", {
  new = "any?, function, number", activate = "timer", cancel = "timer",
  run_to_time = "number",
})
