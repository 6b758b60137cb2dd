-- SPDX-License-Identifier: Apache-2.0
-- A breath: packets are pulled in and pushed through, then what is due is done. Each
-- loop is numeric and in a function of its own: LuaJIT compiles those well, whatever it
-- sees first.

local C = require("core.native")
local account = require("core.engine.account")
local jit_reset = require("core.engine.jit_reset")
local cycles = require("core.watch.cycles")
local graph = require("core.engine.graph")
local health = require("core.watch.health")
local outside = require("core.outside.visitors")
local pool = require("core.pool")
local repush = require("core.repush")
local running_app = require("core.watch.running_app")
local settings = require("core.engine.settings")
local engine_counters = require("core.engine.counters")

local breath = {}

local TEND_SECONDS = 0.01
local ASLEEP_TEND_SECONDS = 0.05 -- while it sleeps for most of the time
local SLOW_SECONDS = 0.001 -- between breaths

-- Calls ------------------------------------------------------------------

-- Each is noted, for the watchdog and signals: a store a call, not a packet.
local work = C.pg_at_work()

local function pull_all(apps)
  for i = 1, apps.n do
    work.call = i
    apps[i]:pull()
  end
end

local function push_each(pushes)
  local push, app, l, before = pushes.push, pushes.app, pushes.link, pushes.before
  for i = 1, pushes.n do
    work.call = before + i
    push[i](app[i], l[i])
  end
end

local function tick_all(apps)
  local before = apps.before
  for i = 1, #apps do
    work.call = before + i
    apps[i]:tick()
  end
end

running_app.loop(pull_all, 1, 2, "pull")
running_app.loop(push_each, 3, 6, "push")
running_app.loop(tick_all, 1, 3, "tick")

-- Breaths in a row ---------------------------------------------------------

-- A breath with few packets takes less time than to look at the clock, for signals and
-- for what is due. So some are taken in a row, of up to ROW_SECONDS together: as many
-- as fit in there by what those before took. A breath with no packet, or many, ends it.
local ROW_SECONDS, MOST_IN_ROW = 3e-6, 32

local in_row = 1 -- a power of two
local moved_few = repush.moved_few

local function adapt_row(seconds)
  if seconds > ROW_SECONDS then
    in_row = in_row > 1 and in_row / 2 or 1
  elseif seconds < ROW_SECONDS / 2 and in_row < MOST_IN_ROW then
    in_row = in_row * 2
  end
end

--- Nothing follows in this row: what an app has asked for is done after the breath.
breath.end_row = repush.end_row

local function breathe_row(pulls, pushes, most)
  for i = 1, most do
    pull_all(pulls)
    repush.make(push_each, pushes)
    if not moved_few() then return i end
  end
  return most
end

-- So many breaths at most; how many.
local function take_row(pulls, pushes, most)
  if pushes.row then return pushes.row(most, push_each, pushes) end
  return breathe_row(pulls, pushes, most)
end

--- Make the push calls of a breath (core.engine.order).
function breath.push(pushes)
  repush.make(push_each, pushes)
  work.call = 0
end

-- What is due ------------------------------------------------------------

local calls = graph.calls
local breaths = 0
local sample_at = math.huge -- the next breath to look into
local last_tick, next_tending, next_duty = 0, 0, 0
local tend_workers = function () return false end
local all_dead = false

--- Call tend() a hundred times a second; it says whether there is nothing to do here
--- any more (core.cpus.workers).
function breath.tend_with(tend) tend_workers = tend end

-- What is due a hundred times a second (less often while it sleeps), each in a breath
-- of its own, so that packets never wait for all of it.
local duties = {
  function (now)
    pool.tend()
    graph.clear_up(1)
    jit_reset.look(now)
    all_dead = tend_workers()
  end,
  outside.tend,
}

-- The same, but it takes longer the more apps there are. So it is left out until it has
-- taken a small part of the CPU's time, for so long at most.
local LARGEST_SHARE, LONGEST_SECONDS = 1 / 200, 0.05
local function look_at_traffic(now)
  if not graph.drifted(now, breaths) then return end
  graph.account() -- what the regions that go have counted
  graph.arrange()
end
local large_duties = {unpack(engine_counters.parts)}
table.insert(large_duties, look_at_traffic)
local next_large, large_seconds = 0, 0

local due, duty = nil, 1 -- the list at work, if any; what is next in it

-- Where no packet has come since, counters are as they were, but for those of breaths.
local QUIET_SECONDS = 1
local last_large, seen_progress = 0, -1ULL
local function is_large_due(now, slow)
  if now < next_large then return false end
  local progress = account.progress()
  if slow and progress == seen_progress and now - last_large < QUIET_SECONDS then
    return false
  end
  last_large, seen_progress = now, progress
  return true
end

local function begin_round(now, slow)
  due = duties
  if is_large_due(now, slow) then due, large_seconds = large_duties, 0 end
end

-- When there is to be a round again. One after each few packets would cost as much as
-- these.
local last_end, last_slept = 0, 0
local function next_round(now)
  local slept = tonumber(C.pg_cycles_slept()) / tonumber(C.pg_tsc_hz())
  local asleep = slept - last_slept > (now - last_end) / 2
  last_end, last_slept = now, slept
  return now + outside.patience(asleep and ASLEEP_TEND_SECONDS or TEND_SECONDS)
end

local function end_list(now)
  if due == large_duties then
    next_large = now + math.min(large_seconds / LARGEST_SHARE, LONGEST_SECONDS)
    due = duties
  else
    next_tending, due = next_round(now), nil
  end
end

-- Where breaths are far between, all at once.
local function do_duties(now, slow)
  if not due then begin_round(now, slow) end
  repeat
    local call, began = due[duty], due == large_duties and C.pg_thread_cpu_seconds()
    duty = duty % #due + 1
    call(now)
    if began then large_seconds = large_seconds + C.pg_thread_cpu_seconds() - began end
    if duty == 1 then end_list(now) end
  until not due or not slow
end

-- What needn't happen in every breath. `before`: when the last one began.
local function housekeeping(now, before)
  local period = 1 / settings.tick_Hz -- infinite for 0: no ticks
  if now >= last_tick + period then
    last_tick = now
    tick_all(calls.ticks)
    work.call = 0
  end
  if now >= next_tending then do_duties(now, now - before >= SLOW_SECONDS) end
  next_duty = math.min(next_tending, last_tick + period)
end

-- These run seldom: compiling them would only make packets wait.
for _, f in ipairs{is_large_due, begin_round, next_round, end_list, do_duties,
                   duties[1], look_at_traffic} do
  jit.off(f)
end

-- The breath -------------------------------------------------------------

local breath_time = 0 -- when the last breath began

--- One breath that begins at `now` (seconds, C.pg_now), or some in a row, unless it is
--- to be a `single` one; how many.
function breath.take(now, single)
  local before = breath_time
  breath_time = now
  adapt_row(now - before)
  local most, n = single and 1 or in_row, 1
  if breaths >= sample_at then
    sample_at = cycles.breath(calls.pulls, calls.pushes, breaths, most)
  else
    n = take_row(calls.pulls, calls.pushes, most)
  end
  work.call = 0
  breaths = breaths + n
  if now >= next_duty then housekeeping(now, before) end
  return n
end

health.attach(breath.take, {[housekeeping] = true})

--- Let what is due a hundred times a second be done in the next breaths.
function breath.hurry() next_duty, next_tending = 0, 0 end

--- When the last breath began.
function breath.time() return breath_time end

--- Have all workers ended, with nothing to do here?
function breath.all_dead() return all_dead end

engine_counters.count_breaths(function () return breaths end)

--- Bring all counters up to date and publish them, those of cycles too if `now`.
function breath.sync(now) engine_counters.publish(now) end

--- Breaths follow without a pause from here on: cycles are sampled, if they are to be.
function breath.begin()
  sample_at = cycles.start(settings.count_cycles, breaths, account.progress())
end

--- They don't any more.
function breath.pause() sample_at = math.huge end

return breath
