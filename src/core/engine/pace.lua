-- SPDX-License-Identifier: Apache-2.0
-- How long to sleep between breaths: not at all with `busywait`, to keep a fixed rate
-- with `Hz`; else, after breaths that moved no packet, until something comes that wakes
-- the engine (core.idle.waking). Where something has to be looked at to see whether it
-- has packets, a little longer after each such breath, up to `maxsleep`, and half as
-- long after each that moved some.

local C = require("core.native")
local account = require("core.engine.account")
local breath = require("core.engine.breath")
local counter = require("core.counter")
local counters = require("core.engine.counters").counters
local outside = require("core.outside.visitors")
local policy = require("core.idle.policy")
local recover = require("core.engine.recover")
local timer = require("core.timer")
local waking = require("core.idle.waking")

local pace = {}

local NO_SLEEP_SECONDS = 20e-6 -- shorter ones aren't worth it
local SLACK_SECONDS = 1e-3     -- timers are as exact as that
local MOST_IN_VAIN = 3         -- wake-ups without a packet, in a row
-- How soon done() is asked again: after a part of the time without a packet, so that
-- what it waits for is noticed late by that part of it at most.
local LEAST_ASKED, SHARE_ASKED = 0.01, 1 / 8
local SHARE_AT_REST = 1 / 8    -- of the time without a packet
-- So long before something is due at a time (an app's due_at()) the engine is awake,
-- and looks without a pause: the median of how much too long it slept, and half of that
-- more. (The longest say nothing: others had the CPU then, and would have if it were
-- awake.)
local LEAST_AWAKE, MOST_AWAKE, SAFETY = 60e-6, 500e-6, 1.5
local LEARNED = 1 / 64

local only_controls = false

--- Whether this engine has no apps, since workers have them all: then it needn't
--- breathe often, and their CPUs are better left to them.
function pace.only_control(yes) only_controls = yes end

local last_progress, due = 0ULL, nil
local load = policy.new()
local in_vain, by_port = 0, false
local awake_before = LEAST_AWAKE

--- When the breath after the one that began at `began` is due, `Hz` a second: counted
--- from when that one was due, so that lateness doesn't add up; from `began` if it was
--- late by a whole period or more.
function pace.next_breath(began, Hz)
  local period = 1 / Hz
  if not due or due > began or began - due >= period then due = began end
  due = due + period
  return due
end

--- The engine's main loop begins: settings and descriptors may be others.
function pace.begin() waking.changed() end

-- Longer each time, as nothing tells when something comes.
local function sleep_longer(engine)
  engine.sleep = math.min(engine.sleep + 1, engine.maxsleep)
  C.pg_sleep(engine.sleep * 1e-6)
  return true
end

local function any_waiting()
  local links = waking.links()
  for i = 1, links.n do
    local l = links[i]
    if l.read ~= l.write or l.nhanded > 0 then return true end
  end
  return false
end

--- For how many seconds from `now` on done() needn't be asked, with the `limits` of
--- pace.breath, where no packet has moved since the time `since`.
function pace.patience(now, since, limits)
  local again = limits.again
  if type(again) == "number" then return again - now end
  return limits.asked or math.min(waking.LONGEST_SECONDS,
    math.max(LEAST_ASKED, (now - since) * SHARE_ASKED))
end

--- The longest sleep, in seconds, of an engine that has moved no packet for so long.
function pace.longest(idle)
  return math.max(waking.LONGEST_SECONDS, idle * SHARE_AT_REST)
end

-- The longest sleep, in seconds: until something is due.
local function until_due(engine, now, limits)
  local seconds = waking.look(engine.tick_Hz)
  if not seconds then return nil end
  seconds = math.min(seconds, pace.longest(now - load.since), limits.ends - now,
    recover.next_start - now, pace.patience(now, load.since, limits))
  if limits.timers then seconds = timer.due_within(seconds) end
  if waking.is_paced() then
    seconds = math.min(seconds, waking.due(now) - now - awake_before)
  end
  return outside.patience(seconds)
end

-- A sleep of so many seconds has lasted longer.
local function note_overslept(seconds)
  local wanted = seconds * SAFETY
  local step = wanted > awake_before and LEARNED or -LEARNED
  awake_before = math.min(MOST_AWAKE, math.max(LEAST_AWAKE, awake_before * (1 + step)))
end

local function after_sleep(woken, slept, limits)
  counter.add(counters.sleeps)
  if woken ~= 0 then counter.add(counters.wakeups) end
  by_port = woken % 2 == C.WOKEN_BY_PORT
  if woken >= C.WOKEN_BY_BELL then breath.hurry() end
  if woken % C.WOKEN_BY_BELL >= C.WOKEN_BY_VISITOR then outside.tend(C.pg_now()) end
  if limits.timers and slept > SLACK_SECONDS then timer.run() end
end

-- Sleep until something comes; the peers have been told, and a breath has looked since.
local function wait(seconds, limits)
  local began = C.pg_now()
  local woken = C.pg_wait(seconds)
  waking.stop_listening()
  local slept = C.pg_now() - began
  if woken == 0 then note_overslept(slept - seconds) end
  after_sleep(woken, slept, limits)
end

-- A breath moved no packet.
local function rest(engine, limits)
  local now = C.pg_now()
  if by_port then
    by_port, in_vain = false, in_vain + 1
  end
  local eager = only_controls or engine.sleep_mode == "eager"
  local what = load:idle(now, C.pg_wait_cost())
  if what == "nap" and not eager then
    if waking.is_paced(engine.tick_Hz) then return false end
    C.pg_sleep(policy.NAP_SECONDS)
    return true
  end
  local seconds = in_vain < MOST_IN_VAIN and until_due(engine, now, limits)
  if not seconds or any_waiting() then
    waking.stop_listening()
    return not waking.is_paced(engine.tick_Hz) and sleep_longer(engine)
  end
  if seconds < NO_SLEEP_SECONDS then return false end
  if waking.listen() then return false end -- one more look first
  wait(seconds, limits)
  return true
end

-- A breath moved packets, so many.
local function go_on(engine, packets)
  engine.sleep = math.floor(engine.sleep / 2)
  if load.since then load:busy(C.pg_now(), packets) end
  by_port, in_vain = false, 0
  waking.stop_listening()
end

local NO_LIMITS = {ends = math.huge, asked = math.huge, timers = true}

--- Sleep as `engine` (core.app) asks for after the breath that began at `began`
--- (seconds); true if there was any sleep. `limits`: `ends` and `again`, times at which
--- it is to be awake; without `again`, `asked`: the longest sleep in seconds (nil: by
--- how long nothing has come); are there `timers`?
function pace.breath(engine, began, limits)
  if only_controls then return rest(engine, limits or NO_LIMITS) end
  if engine.busywait or engine.sleep_mode == "never" then return end
  if engine.Hz then
    local wait_for = pace.next_breath(began, engine.Hz) - C.pg_monotonic()
    if wait_for > 0 then C.pg_sleep(wait_for) end
    return wait_for > 0
  end
  local progress = account.progress()
  if progress ~= last_progress then
    local packets = tonumber(progress - last_progress)
    last_progress = progress
    go_on(engine, packets)
    return false
  end
  return rest(engine, limits or NO_LIMITS)
end

return pace
