-- SPDX-License-Identifier: Apache-2.0
-- Watches LuaJIT: aborted traces, code it has given up on (blacklisted), traces
-- that end in the interpreter; each with its reason, source line, app and fused
-- region. It acts on the JIT's own events alone (jit.attach), so it costs nothing
-- while the compiled code runs.

local util = require("jit.util")
local vmdef = require("jit.vmdef")
local C = require("core.native")
local running_app = require("core.watch.running_app")

local health = {}

-- Not to be compiled: what listens to the compiler mustn't run its code meanwhile. As
-- it begins to record, LuaJIT keeps in one place which way out of which trace it starts
-- from and which way out was last taken (J->parent and J->exitno in lj_trace.c, in 2.1
-- of 2022 and in that of today). A compiled function that is left in here makes a loop
-- a part of that function. So what runs then calls LuaJIT's own functions and what is
-- turned off in its file; no pairs() and ipairs(), which a script may have exchanged.
jit.off(true, true)

--- Seconds of breathing in which aborts are no news: LuaJIT tries what works. Those in
--- which the thread had to wait for a CPU don't count.
health.warm_up = 1

--- Traces made, and how often LuaJIT has thrown all away for want of room.
health.traces, health.flushes = 0, 0

--- Traces since that happened last, or health.flush() was called.
health.traces_alive = 0

--- A number that is another one whenever something has happened.
health.changes = 0

local events, by_key = {}, {}
local refused = {} -- the functions in which LuaJIT has given something up
local roots = {} -- of each trace, by number: the trace at the root of its tree
local leads = {} -- of each trace: the other one that it goes on in
local stuck = {} -- the roots of trees in which a way out was given up
local failed = {} -- of each trace, by the number of a way out: the last abort there
local began = math.huge -- the first event of this graph on the packet path
local on_trace -- the handler, below
local other -- one more
local followed = setmetatable({}, {__mode = "kv"}) -- by function, who follows its loop
local on_purpose = false -- a flush that was asked for
local start = {} -- of the trace being recorded: func, pc, where, parent and its exit

-- Where and why ----------------------------------------------------------------

-- The file and line of bytecode `pc` in `func`; of C code, that of its caller.
local function location(func, pc, where)
  local info = util.funcinfo(func, pc)
  if not info.source then return where.file or "?", where.line or 0 end
  return info.source:gsub("^[@=]", ""), info.currentline or info.linedefined
end

local function builtin_name(func)
  local info = util.funcinfo(func)
  return info.ffid and vmdef.ffnames[info.ffid] or "a C function"
end

-- The reason of an abort as LuaJIT's own text, with names for its numbers. (Since 2024
-- the text has %s for a bytecode's number. Patterns aren't compiled, and an abort in
-- here would not be told.)
local function reason_text(code, detail)
  local text = vmdef.traceerr[code] or ("error %s"):format(tostring(code))
  if text:find("bytecode %d", 1, true) or text:find("bytecode %s", 1, true) then
    local names = vmdef.bcnames
    return "NYI: bytecode " .. names:sub(detail * 6 + 1, detail * 6 + 6):match("%w+")
  end
  if type(detail) == "function" then detail = builtin_name(detail) end
  return (text:gsub("%%[sd]", function () return tostring(detail) end))
end

-- Recording --------------------------------------------------------------------

local function note(kind, where, func, pc, reason)
  local file, line = location(func, pc, where)
  local key = table.concat({kind, file, line, reason, where.app or "",
    where.caller or ""}, "|")
  local event = by_key[key]
  if not event then
    event = {kind = kind, file = file, line = line, reason = reason, count = 0,
             app = where.app, region = where.region, caller = where.caller,
             packet_path = where.packet_path or false}
    by_key[key], events[#events + 1] = event, event
  end
  event.count, event.last = event.count + 1, C.pg_monotonic() - C.pg_run_delay()
  if event.packet_path then began = math.min(began, event.last) end
  return event
end

-- Opcodes of loops and functions that LuaJIT has given up on (vmdef.bcnames).
local given_up = {}
for i, name in ipairs{"ILOOP", "IFORL", "IITERL", "IFUNCF", "IFUNCV"} do
  local at = vmdef.bcnames:find(name, 1, true)
  given_up[(at - 1) / 6] = i
end

local function blacklisted(func, pc)
  local instruction = util.funcbc(func, pc)
  return instruction and given_up[bit.band(instruction, 0xff)]
end

-- What is to be tried anew is noted before anything that may fail (of a stack that is
-- full already, for one).
local function aborted(func, pc, code, detail)
  local given_up_now = start.func and not start.parent
    and blacklisted(start.func, start.pc)
  if given_up_now then refused[start.func] = true end
  local where, reason = running_app.here(on_trace), reason_text(code, detail)
  local event = note("abort", where, func, pc, reason)
  if given_up_now then
    local given = note("blacklisted", start.where, start.func, start.pc, reason)
    given.cause = event
  end
  if start.parent then
    local ways = failed[start.parent] or {}
    ways[start.exit], failed[start.parent] = event, ways
  end
end

-- Remember to which tree of traces a new one belongs, and what it leads to. (What is
-- stitched to a trace by a call has no way to it but that.)
local function place(number, info)
  local root = start.parent and roots[start.parent] or number
  roots[number], failed[number] = root, nil
  leads[number] = info.link ~= 0 and info.link ~= number and info.link or nil
  if info.linktype == "interpreter" then stuck[root] = true end
end

-- Where compiled code is, so that one that doesn't end can be named.
local function tell_watchdog(number)
  local code, address = util.tracemc(number)
  if not code or not start.func then return end
  local file, line = location(start.func, start.pc, start.where)
  C.pg_watch_trace(number, address, #code, ("%s:%d"):format(file, line),
    start.where.app or "")
end

-- A trace whose end is no loop and no other trace leaves the rest to the
-- interpreter: at a function it can't compile, or after too many failed tries.
local function stopped(number, func, pc)
  health.traces, health.traces_alive = health.traces + 1, health.traces_alive + 1
  local info = util.traceinfo(number)
  place(number, info)
  tell_watchdog(number)
  if start.follower then start.follower:stopped(info.linktype) end
  if info.linktype == "stitch" then
    note("stitch", running_app.here(on_trace), func, pc,
      builtin_name(func) .. " isn't compiled")
  elseif info.linktype == "interpreter" then
    local event = note("interpreter", running_app.here(on_trace), func, pc,
      "this way out of a trace failed too often")
    local ways = failed[start.parent]
    event.cause = event.cause or ways and ways[start.exit]
  end
end

function on_trace(what, number, func, pc, a, b)
  health.changes = health.changes + 1
  if what == "start" then
    start = {func = func, pc = pc, parent = a, exit = b, where = {}}
    start.where = running_app.here(on_trace)
    start.follower = not a and followed[func] or nil
    if start.follower then
      start.follower:started(util.funcinfo(func, pc).currentline)
    end
  elseif what == "abort" then
    aborted(func, pc, a, b)
  elseif what == "stop" then
    stopped(number, func, pc)
  elseif what == "flush" then
    health.flushes = health.flushes + (on_purpose and 0 or 1)
    health.traces_alive = 0
    roots, leads, stuck, failed = {}, {}, {}, {}
    C.pg_watch_flush()
  end
  if other then other(what, number, func, pc, a, b) end
end

-- Traces that lead into a tree that is thrown away would still run its code: theirs is
-- thrown away, too.
local function spread()
  local more = next(stuck) ~= nil
  while more do
    more = false
    for number, to in pairs(leads) do
      local root = roots[number]
      if stuck[roots[to]] and not stuck[root] then stuck[root], more = true, true end
    end
  end
end

--- Let LuaJIT try anew what it has given up: functions and loops; and ways out of
--- traces, which it does if the traces are thrown away. What a program turned off
--- itself (jit.off) was never tried, and stays off. `keep`: no trace is thrown away.
function health.retry(keep)
  for f in pairs(refused) do jit.on(f) end
  refused = {}
  if keep then return end
  spread()
  for root in pairs(stuck) do jit.flush(root) end
  stuck = {}
end

--- Throw all traces away.
function health.flush()
  on_purpose = true
  jit.flush()
  on_purpose = false
end

--- Tell `listener` (nil: nobody) of traces, too, as jit.attach() would, which tells
--- only who asked last.
function health.listen(listener)
  other = listener
end

--- Call follower:started(LINE) when LuaJIT begins to record a trace at a loop or the
--- head of the function `f`, which is at that line, and follower:stopped(linktype) when
--- it has compiled one: it is "loop", or what else jit.util.traceinfo calls its link.
--- The caller keeps `follower`, and neither may run compiled code (above).
function health.follow(f, follower)
  followed[f] = follower
end

--- Watch from now on. `breath` is the function that a packet's whole way is called
--- from; functions in the set `aside` are called from it, but off that way.
function health.attach(breath, aside)
  running_app.packet_path(breath, aside)
  jit.attach(on_trace, "trace")
end

--- Forget what there was.
function health.clear()
  events, by_key = {}, {}
  health.traces, health.flushes = 0, 0
end

-- The verdict ------------------------------------------------------------------

--- Everything noted: a list of {kind = "abort", "blacklisted", "stitch" or
--- "interpreter"; file, line, reason; count; last = when (C.pg_monotonic(), less
--- C.pg_run_delay()); app, region and caller (core.watch.running_app) or nil;
--- packet_path; cause = the abort that led to a blacklisting, or to a way out that is
--- left to the interpreter}.
function health.events()
  return events
end

-- LuaJIT looks for the loop to begin with, and what happens once: as long as it
-- doesn't end in a blacklisting, nothing is lost.
local HARMLESS = {
  ["leaving loop in root trace"] = true, ["inner loop in root trace"] = true,
  ["symbol not in cache"] = true, ["retry recording"] = true,
  ["hit mcode limit (retrying)"] = true, ["down-recursion, restarting"] = true,
  ["error thrown or hook called during recording"] = true,
}

--- Does the event slow packets down for good? Aborts are no news while LuaJIT finds
--- out what works: those count that come `health.warm_up` later than the first on
--- the packet path. The engine's own calls, once a breath, don't count.
function health.is_problem(event)
  if not event.packet_path or not (event.app or event.region) then return false end
  if event.kind ~= "abort" then return true end
  return not HARMLESS[event.reason] and event.last > began + health.warm_up
end

--- The events that are problems.
function health.problems()
  local list = {}
  for _, event in ipairs(events) do
    if health.is_problem(event) then list[#list + 1] = event end
  end
  return list
end

--- The graph has changed: its packet path warms up again.
function health.rearranged()
  health.changes = health.changes + 1
  began = math.huge
end

return health
