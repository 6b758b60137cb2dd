-- SPDX-License-Identifier: Apache-2.0
-- Workers that stop for an error in an app, or are given up since an app doesn't return
-- (native/dpdk/watchdog.c): what is said of it, and what becomes of the others.

local C = require("core.native")
local errors = require("core.engine.errors")
local failure = require("core.failure")
local log = require("core.lib.log")
local on_error = require("core.on_error")
local rings = require("core.cpus.rings")
local settings = require("core.engine.settings")

local failures = {}

local first     -- a worker that stays dead: {cpu =, message =}
local over      -- are the others to stop for it?

--- engine.main begins.
function failures.begin() first, over = nil, false end

--- Is engine.main to end, for a worker that is stuck?
function failures.are_fatal() return over end

local function note(worker, message)
  worker.dead = message
  worker.failures = (worker.failures or 0) + 1
  first = first or {cpu = worker.cpu, message = message}
  over = over or message.stuck and settings.stuck_worker ~= "give up"
end

-- A traceback is told once for a cause.
local function sentence_of(worker, message)
  local _, cause = errors.text_and_cause(message.sentence)
  worker.told = worker.told or {}
  if not worker.told[cause] then
    worker.told[cause] = true
    return message.sentence
  end
  return (message.sentence:match("^[^\n]*"))
end

--- The worker has stopped: `message` = {sentence =, app = a name or nil, stuck = was it
--- the watchdog that stopped it?}. Starts again soon, if it `restarts`.
function failures.stopped(worker, message, restarts)
  log.error("the worker on CPU %d has stopped: %s", worker.cpu,
    sentence_of(worker, message))
  if restarts then
    worker.dead, worker.failures = message, (worker.failures or 0) + 1
    worker.restart_at = C.pg_monotonic() + on_error.PAUSE_SECONDS
  else
    note(worker, message)
  end
end

--- The worker doesn't return, which the watchdog has told: packets for it are dropped,
--- and nobody asks it anything any more.
function failures.give_up(worker)
  if worker.gone then return end
  worker.gone, worker.restart_at = true, nil
  rings.abandon(worker.cpu)
  note(worker, {stuck = true, gone = true})
end

--- Raise that a worker has failed and wasn't started again, if one has.
function failures.raise()
  local failed = first
  if not failed then return end
  first = nil
  local message = failed.message
  failure.raise("the worker on CPU %d %s; %s", failed.cpu,
    message.gone and "was given up, since one of its apps doesn't return"
      or "stopped" .. (message.app and (" for an error in app '%s'"):format(message.app)
                       or ""),
    over and "so the others were stopped" or "the others went on")
end

return failures
