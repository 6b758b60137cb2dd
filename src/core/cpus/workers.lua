-- SPDX-License-Identifier: Apache-2.0
-- Many CPUs: the engine of the main thread has the apps without a CPU, and lets
-- workers run the others. Here is what it sends to them, and gets from them.

local C = require("core.native")
local account = require("core.engine.account")
local drops = require("core.fuse.drops")
local failure = require("core.failure")
local failures = require("core.cpus.failures")
local log = require("core.lib.log")
local mode = require("core.check.mode")
local pace = require("core.engine.pace")
local parts = require("core.cpus.parts")
local partition = require("core.cpus.partition")
local reports = require("core.cpus.reports")
local rings = require("core.cpus.rings")
local shm = require("core.shm")
local termination = require("core.cpus.termination")
local Worker = require("core.cpus.worker")
local tables = require("core.lib.tables")

local held = mode.on and require("core.check.held")

local workers = {}

local MAIN = partition.MAIN

--- The workers there are, by the number of their CPU.
workers.by_cpu = {}
local by_cpu = workers.by_cpu

local placed = {} -- what each place runs, as the last configuration says
local restart = {} -- the CPUs whose workers start again
local running = false -- in engine.main
local retired_breaths = 0

--- Breaths of the workers, also of those that are no more.
function workers.breaths()
  local sum = retired_breaths
  for _, worker in pairs(by_cpu) do sum = sum + tonumber(worker.handle.breaths) end
  return sum
end

--- Are there workers, or will there be with the configuration `new`?
function workers.concern(new)
  return next(by_cpu) ~= nil or partition.is_placed(new)
end

-- Workers --------------------------------------------------------------------------

--- The CPUs of the workers there are, sorted.
function workers.places()
  return tables.sorted_keys(by_cpu)
end

-- What pcall returned of asking the worker; nil if it is given up.
local function unless_given_up(worker, ok, answer)
  if ok then return answer end
  if not worker:is_given_up() then error(answer, 0) end
end

--- The answer of that CPU's worker; nil if it is given up.
function workers.ask(cpu, message)
  local worker = by_cpu[cpu]
  if worker:is_given_up() then return nil end
  return unless_given_up(worker, pcall(worker.ask, worker, message))
end

--- Send message_of(CPU) to the workers of all these CPUs, then wait for their answers,
--- {[CPU] = answer}, without those that are given up. When one's answer is a failure it
--- is raised, after all have answered.
function workers.ask_all(cpus, message_of)
  local answers, asked, failed, err = {}, {}, false, nil
  local function try(f, ...)
    local ok, result = pcall(f, ...)
    if not ok and not failed then failed, err = true, result end
    return ok and result or nil
  end
  for _, cpu in ipairs(cpus) do
    local worker = by_cpu[cpu]
    if worker and not worker:is_given_up() then
      try(function ()
        asked[#asked + 1] = {cpu = cpu, number = worker:tell(message_of(cpu))}
      end)
    end
  end
  for _, one in ipairs(asked) do
    local worker = by_cpu[one.cpu]
    answers[one.cpu] = try(unless_given_up, worker,
      pcall(worker.hear_out, worker, one.number))
  end
  if failed then error(err, 0) end
  return answers
end

-- The workers' free lists take part in the sums.
local function list_accounts()
  local others = {account.retired}
  for _, cpu in ipairs(workers.places()) do
    others[#others + 1] = by_cpu[cpu].handle.account
  end
  account.include(others)
end

--- Start a worker on that CPU.
function workers.start(cpu)
  local main = require("core.main")
  by_cpu[cpu] = Worker.start(cpu, {what = "setup", root = main.root,
    version = main.release, front = main.front, options = main.options,
    program_name = main.program_name,
    parameters = main.parameters, seed = os.getenv("SNABB_RANDOM_SEED")})
  list_accounts()
end

--- End it; one that is given up is left to itself.
function workers.retire(cpu)
  local worker = by_cpu[cpu]
  if held and not worker:is_given_up() then
    held.add(workers.call(cpu, "core.check.held", "at_end", worker.failures ~= nil))
  end
  if not (worker.dead or worker:is_given_up()) then
    drops.add_removed(workers.call(cpu, "core.fuse.drops", "of_removed"))
  end
  worker:stop()
  account.retire(worker.handle.account)
  retired_breaths = retired_breaths + tonumber(worker.handle.breaths)
  by_cpu[cpu] = nil
  list_accounts()
  if worker:is_given_up() then
    failures.give_up(worker) -- its thread may still use all it has
  else
    worker:free()
  end
  shm.unlink("workers/" .. cpu)
end

local function raise_problem(answer)
  local raise = answer.status == 2 and failure.usage or failure.raise
  raise("%s", answer.problem)
end

--- Let the worker of that CPU run the part (core.cpus.partition). If it is given up,
--- packets for it are dropped. `m`: as for transfer.during (core.move.transfer).
function workers.configure(cpu, p, m)
  m = m or {}
  local answer = workers.ask(cpu, {what = "configure", part = parts.message(p),
    leave = m.leave, come = m.come, counts = m.counts})
  rings.close(cpu, answer == nil)
  if not answer then return end
  m.given, m.stood = answer.given, answer.stood
  if answer.problem then raise_problem(answer) end
  by_cpu[cpu].dead = nil
end

local settings = {}

--- What each place runs, as the last configuration says (core.cpus.partition).
function workers.parts() return placed end

--- These parts run now. `again` are the CPUs whose workers start again, a set.
function workers.installed(new_parts, again)
  placed, restart = new_parts, again
end

--- Do the workers breathe by themselves?
function workers.running() return running end

--- Let the worker of that CPU breathe.
function workers.tell_run(cpu)
  by_cpu[cpu]:tell{what = "run", settings = settings, silent = true}
end

-- Running --------------------------------------------------------------------------

--- Let the workers breathe by themselves, with the settings of `engine`.
function workers.run(engine)
  for _, key in ipairs(engine.SHARED) do settings[key] = engine[key] end
  failures.begin()
  running = true
  pace.only_control(next(by_cpu) ~= nil and not workers.main_has_apps())
  for _, cpu in ipairs(workers.places()) do workers.tell_run(cpu) end
end

local function start_again(worker)
  worker.restart_at = nil
  local ok, err = pcall(workers.configure, worker.cpu, placed[worker.cpu])
  if not ok then
    failures.stopped(worker, {sentence = tostring(err)}, true)
    return
  end
  log.info("the worker on CPU %d runs again", worker.cpu)
  if running then workers.tell_run(worker.cpu) end
end

local hear_other = function () end

--- Let f(message) hear what workers say but that they have stopped.
function workers.hear_others(f) hear_other = f end

-- Hear what the worker says.
local function hear(worker)
  for _, message in ipairs(worker:heard()) do
    if message.said == "died" then
      failures.stopped(worker, message, restart[worker.cpu])
    else
      hear_other(message)
    end
  end
end

--- Hear what all workers have said up to now.
function workers.listen()
  for _, worker in pairs(by_cpu) do hear(worker) end
end

--- Hear what the workers say, and start again those that are to be. True if none
--- is left and the main thread has nothing to do itself, or all are to stop.
function workers.tend()
  local now, alive = C.pg_monotonic(), false
  for _, worker in pairs(by_cpu) do
    if worker:is_given_up() then failures.give_up(worker) end
    hear(worker)
    if worker.restart_at and now >= worker.restart_at then start_again(worker) end
    alive = alive or not worker.dead or worker.restart_at ~= nil
  end
  return failures.are_fatal()
    or next(by_cpu) ~= nil and not alive and not workers.main_has_apps()
end
jit.off(workers.tend) -- runs seldom: compiling it would only make packets wait

--- Does the main thread run apps of its own?
function workers.main_has_apps()
  return placed[MAIN] ~= nil and next(placed[MAIN].apps) ~= nil
end

--- Does it have links?
function workers.main_has_links()
  return placed[MAIN] ~= nil and next(placed[MAIN].links) ~= nil
end

--- Do workers run links?
function workers.has_links()
  for place, part in pairs(placed) do
    if place ~= MAIN and by_cpu[place] and next(part.links) then return true end
  end
  return false
end

--- Have all files that apps read ended, and are links and rings empty?
function workers.finished(engine)
  if next(by_cpu) then
    return termination.everywhere(engine, by_cpu, account.retired, rings.list)
  end
  return termination.alone(engine)
end

--- Let the workers stop breathing; they have when this returns.
function workers.pause()
  running = false
  pace.only_control(false)
  local numbers = {}
  for _, cpu in ipairs(workers.places()) do
    numbers[cpu] = by_cpu[cpu]:tell{what = "pause"}
  end
  for cpu, number in pairs(numbers) do
    unless_given_up(by_cpu[cpu], pcall(by_cpu[cpu].answer, by_cpu[cpu], number))
  end
  workers.tend()
end

--- One breath of each worker.
function workers.breathe()
  for _, cpu in ipairs(workers.places()) do workers.ask(cpu, {what = "breathe"}) end
end

--- Raise that a worker has failed and wasn't started again, if one has.
workers.raise_failure = failures.raise

-- Reports --------------------------------------------------------------------------

reports.attach(workers)

--- Has the worker of that CPU stopped for an error, for good or until it starts again?
function workers.is_dead(cpu) return by_cpu[cpu].dead ~= nil end

--- Does a worker run the app `name`?
function workers.has(name)
  for place, p in pairs(placed) do
    if place ~= MAIN and p.apps[name] then return place end
  end
end

--- What the function `name` of the module, called with `argument` in the Lua state of
--- that CPU's worker, returns; plain data both.
function workers.call(cpu, module, name, argument)
  return by_cpu[cpu]:ask{what = "call", module = module, name = name,
                          argument = argument}.result
end

--- What a worker has counted for an app that it runs: {drops =, errors =}, as
--- engine.drops and engine.errors give them.
function workers.of_app(name)
  return by_cpu[workers.has(name)]:ask{what = "report", app = name}
end

--- Links between workers (core.cpus.rings).
workers.rings = rings.list

return workers
