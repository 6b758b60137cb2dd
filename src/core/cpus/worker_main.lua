-- SPDX-License-Identifier: Apache-2.0
-- What runs in a worker's thread and Lua state (native/dpdk/worker.c): an engine over a
-- part of the graph, which does what the main thread says, between breaths.

require("core.luajit")
local ffi = require("ffi")
local C = require("core.native")
local mode = require("core.check.mode")
local this_engine = require("core.this_engine")

local worker, engine, blocked, drain, failure, graph, meanwhile, parts, messages
local transfer
local runs, ends, dead = false, false, false
local sources = {} -- the rings that lead here
local breathe, configure -- what engine.main and engine.configure do
local breathe_between -- what is done in the midst of a change, for packets to pass

local function post(message)
  local text = messages.encode(message)
  C.pg_worker_post(worker, C.FROM_WORKER, text, #text)
end

local function next_message()
  local size = tonumber(C.pg_worker_next(worker, C.TO_WORKER))
  if size < 0 then return nil end
  local text = ffi.new("char[?]", size + 1)
  C.pg_worker_take(worker, C.TO_WORKER, text)
  return messages.decode(ffi.string(text, size))
end

-- Messages -----------------------------------------------------------------------

local on = {}

-- The program's options and those of its engine, so that both states are alike.
function on.setup(message)
  require(message.front).within_worker(message)
  engine = require("core.app")
  blocked = require("core.engine.blocked")
  drain = require("core.engine.drain")
  graph = require("core.engine.graph")
  meanwhile = require("core.lib.meanwhile")
  parts = require("core.cpus.parts")
  transfer = require("core.move.transfer")
  breathe, configure, breathe_between = engine.intercept{
    configure = function ()
      failure.raise("engine.configure was called by an app on CPU %d; only the main "
        .. "thread can configure", this_engine.cpu())
    end,
    main = function ()
      failure.raise("engine.main was called by an app on CPU %d", this_engine.cpu())
    end,
  }
end

-- Call f(...); while the engine runs, packets pass meanwhile.
local function as_they_pass(f, ...)
  if runs then return meanwhile.call(breathe_between, f, ...) end
  return f(...)
end

function on.configure(message)
  local before = blocked.seconds
  local ok, err = pcall(transfer.during, message, as_they_pass, configure,
    parts.received(message.part))
  if not ok then
    return {given = message.given, problem = tostring(err), status = err.status}
  end
  sources = {}
  for _, ends_of in pairs(message.part.remote) do
    for _, address in pairs(ends_of.outputs) do sources[#sources + 1] = address end
  end
  dead = false
  return {given = message.given, stood = blocked.seconds - before}
end

function on.run(message)
  for key, value in pairs(message.settings) do engine[key] = value end
  runs = not dead
end

-- Call f(...), which may take its time.
local function unwatched(f, ...)
  local watched = C.pg_watch(false)
  local ok, err = xpcall(f, failure.explain, ...)
  C.pg_watch(watched)
  if not ok then error(err, 0) end
end

-- Before a configuration of several workers is applied, each looks whether it can be.
function on.prepare(message)
  unwatched(as_they_pass, graph.prepare, parts.received(message.part), message.except)
end

function on.abandon() unwatched(graph.abandon) end

function on.drain() return {waiting = drain.here()} end

function on.release() drain.release() end

-- Counters in shared memory are up to date when the answer comes.
function on.pause()
  runs = false
  engine.sync()
end

function on.breathe()
  if not dead then engine.breathe() end
end

function on.report(message)
  local reported, problem = true, nil
  if message.apps then
    reported, problem = pcall(engine.report_apps, ("CPU %d"):format(message.apps))
  end
  local answer = require("core.engine.totals").of_worker(engine, message.app)
  answer.problem = not reported and tostring(problem) or nil
  return answer
end

function on.missed()
  return {missed = blocked.missed_by(engine.app_table)}
end

function on.call(message)
  return {result = require(message.module)[message.name](message.argument)}
end

function on.finish() return require("core.cpus.termination").here(engine) end

on["end"] = function ()
  runs, ends = false, true
  configure(require("core.config").new())
end

local function handle(message)
  local answer = {}
  local ok, err = xpcall(function ()
    answer = on[message.what](message) or {}
  end, failure.explain)
  if not ok then answer = {failure = tostring(err), status = err.status} end
  answer.number = message.number
  if not message.silent then post(answer) end
end

-- It was given up while an app didn't return, so it may touch nothing any more.
local function stay_if_given_up()
  while worker.given_up ~= 0 do C.pg_sleep(1000) end
end

-- Handle what has come; true if the engine is to stop breathing.
local function attend()
  stay_if_given_up()
  while worker.waiting[C.TO_WORKER] > 0 do
    local message = next_message()
    if message then handle(message) end
  end
  return not runs
end

-- The thread ---------------------------------------------------------------------

-- An app raised an error: its graph goes, and packets for it are dropped.
local function die(err)
  stay_if_given_up()
  local work = C.pg_at_work()
  local stuck = work.interrupted ~= 0
  work.interrupted = 0
  runs, dead = false, true
  for _, address in ipairs(sources) do
    C.pg_passage_close(ffi.cast("struct passage *", address), true)
  end
  pcall(configure, require("core.config").new())
  if mode.on then require("core.check.record").settle(err) end
  post{said = "died", sentence = tostring(err), app = engine.failing,
       stuck = stuck, status = failure.is(err) and err.status or 1}
end

local function run(options)
  local ok, err = xpcall(breathe, failure.explain, options)
  if not ok then die(err) end
end

local IDLE_SECONDS = 1

return function (handle_of_thread)
  worker = ffi.cast("struct worker *", handle_of_thread)
  this_engine.become(worker)
  failure = require("core.failure")
  messages = require("core.cpus.messages")
  -- (A message wakes it.)
  local options = {done = attend, no_report = true, ask_within = math.huge,
                   in_rows = true}
  repeat
    if not runs then C.pg_worker_wait(worker, C.TO_WORKER, IDLE_SECONDS) end
    if runs then run(options) end
    attend()
  until ends
  require("core.shm").unmap_all()
end
