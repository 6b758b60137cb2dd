-- SPDX-License-Identifier: Apache-2.0
-- Where the cycles go: splits breaths into receiving, sending, each app or fused
-- region, polls that found nothing, sleep, and the engine's own work, in TSC cycles.
-- It looks at one breath in many, chosen so that looking takes less than a percent,
-- and takes the others to be alike; sleep is measured in full.
-- (src/native/dpdk/cycles.c)

local ffi = require("ffi")
local C = require("core.native")
local pool = require("core.pool")
local publish = require("core.watch.cycles_publish")
local repush = require("core.repush")
local running_app = require("core.watch.running_app")

local cycles = {}

-- Samples that are taken first, and dismissed: LuaJIT compiles the loops below.
local WARM_UP = 70
-- Breaths before the first of those: in them LuaJIT compiles the main loop, which is to
-- be that of breaths as they mostly are: it begins with the 56th round of a loop.
local FIRST = 70

local SYNC_SECONDS = 0.1

-- Labels of calls that count for ports, and for which part.
local RECEIVE, SEND = {}, {}
local PORT_PART = {[RECEIVE] = "receive", [SEND] = "send"}

local array_t = ffi.typeof("uint64_t[?]")

local c = ffi.new("struct cycles")
local anchor -- of the arrays that `c` points to
local calls, labels = 0, {} -- number of calls in a breath, and what each counts for
local open, dismissed = false, 0
local next_sync = 0 -- TSC
local before -- the sums as of the last sync; nil: from the next on

-- Cycles since the start, by part; those of apps and regions in `tasks`, {[LABEL] =
-- cycles}; and what they were spent in: breaths, packets that came to their end,
-- seconds of the thread's CPU time, and cycles in all (`tsc`).
local totals = {receive = 0, send = 0, empty = 0, sleep = 0, engine = 0, tasks = {},
                breaths = 0, packets = 0, samples = 0, cpu = 0, tsc = 0}

-- Taking samples -----------------------------------------------------------------

local work = C.pg_at_work()

local function pull_each(apps)
  for i = 1, apps.n do
    work.call = i
    apps[i]:pull()
    C.pg_cycles_mark(c, i - 1)
  end
end

local function push_each(list, first)
  local push, app, l = list.push, list.app, list.link
  for i = 1, list.n do
    work.call = list.before + i
    push[i](app[i], l[i])
    C.pg_cycles_mark(c, first + i)
  end
end

running_app.loop(pull_each, 1, 2, "pull")
running_app.loop(push_each, 4, 6, "push")

-- The breath after a sample ends it; after how many breaths to take another.
local function finish(in_row)
  open = false
  local warming = dismissed < WARM_UP
  if warming then dismissed, before, next_sync = dismissed + 1, nil, 0 end
  local owns = c.owns
  local after = C.pg_cycles_end(c, calls, warming)
  c.owns = owns + (c.owns - owns) / in_row
  return after
end

--- The calls of breath number `breaths`, as a sample, or as the breath after one, in
--- which nothing is counted; the number of the next breath to be done so. So many
--- breaths are taken `in_row` else, and share what the engine does after them.
function cycles.breath(pulls, pushes, breaths, in_row)
  if open then
    breaths = breaths + finish(in_row)
  else
    C.pg_cycles_begin(c, pool.freelist, calls)
    open, breaths = true, breaths + 1
  end
  pull_each(pulls)
  repush.make(push_each, pushes, pulls.n - 1)
  if open then C.pg_cycles_pause(c, pool.freelist) end
  return breaths
end

-- What to count for -----------------------------------------------------------------

-- An app that moves packets to and from a device, and does nothing else.
local function is_port(app)
  return app.direct and app.port ~= nil
end

-- What stands for an app of another CPU (core.cpus.remote_app) only moves packets.
local function name_of(app, way)
  return app.is_remote and ("the ring %s %s"):format(way, app.appname) or app.appname
end

local function region_labels(fused)
  local label_of = {}
  for _, region in ipairs(fused.regions) do
    local apps = region.description.apps
    local label = #apps == 1 and apps[1] or ("%s+%d"):format(apps[1], #apps - 1)
    for _, run in ipairs(region.run) do label_of[run] = label end
  end
  return label_of
end

--- The calls of a breath (core.engine.order) are others now. Their cycles count for an
--- app by its name, or for a region by that of its first app and how many more there
--- are ("a+3"); what apps that are ports do is receiving and sending.
function cycles.arrange(pulls, pushes, fused)
  local region_of = region_labels(fused)
  calls, labels, open, dismissed = pulls.n + pushes.n, {}, false, 0
  pool.freelist.sample = nil
  for i = 1, pulls.n do
    labels[i - 1] = is_port(pulls[i]) and RECEIVE or name_of(pulls[i], "from")
  end
  for i = 1, pushes.n do
    local app = pushes.app[i]
    labels[pulls.n + i - 1] = region_of[pushes.push[i]]
      or is_port(app) and SEND or name_of(app, "to")
  end
  anchor = {array_t(calls + 1), array_t(calls + 1)}
  c.spent, c.sums = anchor[1], anchor[2]
  before = nil
end

-- Adding up -----------------------------------------------------------------------

local PARTS = {"receive", "empty", "send", "engine"} -- but for apps and sleep

-- The sums as of breath number `breaths`, when so many packets had come to their end.
local function look(breaths, packets)
  local seen = {samples = tonumber(c.samples), receive = tonumber(c.receives),
    empty = tonumber(c.empties), send = tonumber(c.sends), engine = tonumber(c.owns),
    sleep = tonumber(C.pg_cycles_slept()), cpu = C.pg_thread_cpu_seconds(),
    tsc = tonumber(C.pg_tsc()), breaths = breaths, packets = tonumber(packets),
    calls = {}}
  for i = 0, calls - 1 do seen.calls[i] = tonumber(c.sums[i]) end
  return seen
end

-- Add what there was between: the samples stand for all of its breaths.
local function add(old, new)
  local scale = (new.breaths - old.breaths) / (new.samples - old.samples)
  for _, part in ipairs(PARTS) do
    totals[part] = totals[part] + scale * (new[part] - old[part])
  end
  for i = 0, calls - 1 do
    local spent, label = scale * (new.calls[i] - old.calls[i]), labels[i]
    local sums = PORT_PART[label] and totals or totals.tasks
    label = PORT_PART[label] or label
    sums[label] = (sums[label] or 0) + spent
  end
  for _, name in ipairs{"sleep", "cpu", "tsc", "breaths", "packets", "samples"} do
    totals[name] = totals[name] + new[name] - old[name]
  end
end

--- The engine begins to breathe without a pause: the number of the first breath to be
--- a sample, infinite if none are `wanted`. It is at breath number `breaths`; so many
--- `packets` have come to their end.
function cycles.start(wanted, breaths, packets)
  open, pool.freelist.sample = false, nil
  if not wanted then return math.huge end
  if c.reading == 0 then c.reading = C.pg_cycles_reading() end
  before = look(breaths, packets)
  return breaths + FIRST
end

--- Bring the totals up to date, as of breath number `breaths`, when so many `packets`
--- had come to their end. Does so ten times a second, or at once with `now`.
function cycles.sync(breaths, packets, now)
  local tsc = tonumber(C.pg_tsc())
  if not now and tsc < next_sync or dismissed < WARM_UP then return end
  next_sync = tsc + SYNC_SECONDS * tonumber(C.pg_tsc_hz())
  if not before then
    before = look(breaths, packets)
  elseif tonumber(c.samples) > before.samples then
    local new = look(breaths, packets)
    add(before, new)
    before = new
  end
  publish.all(totals)
end

-- These run seldom: compiling them would only make packets wait.
for _, f in ipairs{look, add, cycles.sync} do jit.off(f) end

--- The totals, as of the last sync.
function cycles.totals()
  return totals
end

return cycles
