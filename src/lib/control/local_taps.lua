-- SPDX-License-Identifier: Apache-2.0
-- What is attached to the engine of this thread, the main thread's or a worker's, for
-- clients of the control socket (lib.control.all_engines attaches it everywhere). What
-- taps report is sent to the main thread a hundred times a second.

local C = require("core.native")
local messages = require("core.cpus.messages")
local outside = require("core.outside.visitors")
local taps = require("lib.control.taps")
local this_engine = require("core.this_engine")

local local_taps = {}

local MOST_WAITING = 64 -- messages that the main thread hasn't taken
local PATIENCE_SECONDS = 0.01 -- of taps, in which little fits

-- The modules that make taps, by kind: new(arguments, tell).
local KINDS = {trace = "lib.control.tracer", capture = "lib.control.capturer"}

local list = {} -- by id: {tap =, told = a list}
local hear -- of the main thread: hear(id, cpu, list)

--- In the main thread: let `f` hear what all engines tell, f(id, message).
function local_taps.hear(f) hear = f end

-- Give what the tap has told to the main thread.
local function pass_on(id, entry)
  if #entry.told == 0 then return end
  local message = {said = "told", id = id, cpu = this_engine.cpu(), list = entry.told}
  local worker = this_engine.worker()
  if not worker then
    hear(id, message)
  elseif worker.waiting[C.FROM_WORKER] < MOST_WAITING then
    local text = messages.encode(message)
    C.pg_worker_post(worker, C.FROM_WORKER, text, #text)
  else
    entry.tap:lose(entry.told)
  end
  entry.told = {}
end

local visitor = {}

function visitor.tend(now)
  for id, entry in pairs(list) do
    entry.tap:tend(now)
    pass_on(id, entry)
  end
end

jit.off(visitor.tend, true)

local let_in = false

--- Attach a tap of that kind: `request` = {id =, kind =, arguments =}. Raises what is
--- wrong with the arguments.
function local_taps.attach(request)
  local entry = {told = {}}
  entry.tap = require(KINDS[request.kind]).new(request.arguments, function (what)
    entry.told[#entry.told + 1] = what
  end)
  list[request.id] = entry
  visitor.patience = PATIENCE_SECONDS
  taps.attach(entry.tap)
  if not let_in then outside.let_in(visitor) end
  let_in = true
end

--- Detach it; its last words have been passed on then.
function local_taps.detach(id)
  local entry = list[id]
  if not entry then return end
  list[id] = nil
  if not next(list) then visitor.patience = nil end
  taps.detach(entry.tap)
  entry.tap:stop()
  pass_on(id, entry)
end

return local_taps
