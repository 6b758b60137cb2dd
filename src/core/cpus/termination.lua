-- SPDX-License-Identifier: Apache-2.0
-- Whether a graph over several workers has come to its end: all files have been read,
-- and no packet is on its way. Workers are asked one after the other, so packets may
-- slip past; what they say holds if a second round says the same (the four counters
-- of F. Mattern, "Algorithms for distributed termination detection", 1987).

local C = require("core.native")
local failure = require("core.failure")
local link = require("core.link")
local pool = require("core.pool")

local termination = {}

local PERIOD_SECONDS = 0.005

-- Names of the apps that read files, of that configuration.
local readers, readers_of = {}, nil

-- An app whose ends() says so reads something that ends; ended() tells when it has, and
-- may raise a failure: what is read is damaged there. over(), if it has that, doesn't.
local function find_readers(engine)
  if engine.configuration == readers_of then return readers end
  readers, readers_of = {}, engine.configuration
  for name, app in pairs(engine.app_table) do
    if type(app.ends) == "function" and app:ends() then readers[#readers + 1] = name end
  end
  return readers
end

--- Are the links of the `engine` empty?
function termination.links_are_empty(engine)
  for _, l in pairs(engine.link_table) do
    if not link.empty(l) then return false end
  end
  return true
end

local function is_idle(engine)
  for _, name in ipairs(find_readers(engine)) do
    local app = engine.app_table[name] -- or what has taken its place (core.on_error)
    local is_over = app.over or app.ended
    if is_over and not is_over(app) then return false end
  end
  return termination.links_are_empty(engine)
end

-- Raise a failure if something that has been read is damaged.
local function check(engine)
  for _, name in ipairs(find_readers(engine)) do
    local app = engine.app_table[name]
    if app.over then app:ended() end
  end
end

--- Has the graph of this state's `engine` ended, when there are no workers? Raises a
--- failure if it has, by a damaged file.
function termination.alone(engine)
  if #find_readers(engine) == 0 or not is_idle(engine) then return false end
  check(engine)
  return true
end

--- What is true of this state's `engine`: {ends = does an app read something that
--- ends?, idle = have all those ended, and are the links empty?, damage = what is wrong
--- with one, handed =, taken = how many packets went to other workers, and came from
--- them}.
function termination.here(engine)
  local fl, idle, sound, damage = pool.freelist, is_idle(engine), true, nil
  if idle then sound, damage = pcall(check, engine) end
  return {ends = #find_readers(engine) > 0, idle = idle,
          damage = not sound and tostring(damage) or nil,
          handed = tonumber(fl.handed), taken = tonumber(fl.taken)}
end

-- What a worker says; of one that is given up, what is known. Nil if it was given up
-- only now.
local function answer_of(worker)
  if worker.gone then
    local counted = worker.handle.account
    return {idle = true, ends = true, handed = tonumber(counted.handed),
            taken = tonumber(counted.taken)}
  end
  local ok, answer = pcall(worker.ask, worker, {what = "finish"})
  if ok then return answer end
  if not worker:is_given_up() then error(answer, 0) end
end

-- One round: the sums; nil if somebody has work.
local function ask(engine, workers)
  local sum = termination.here(engine)
  if not sum.idle then return nil end
  for _, worker in pairs(workers) do
    if worker.restart_at then return nil end
    local answer = answer_of(worker)
    if not (answer and answer.idle) then return nil end
    sum.ends = sum.ends or answer.ends or worker.dead ~= nil
    sum.damage = sum.damage or answer.damage
    sum.handed, sum.taken = sum.handed + answer.handed, sum.taken + answer.taken
  end
  return sum
end

-- Packets in rings to workers that have stopped.
local function stranded(workers, rings)
  local n = 0
  for _, ring in pairs(rings) do
    if workers[ring.to] and workers[ring.to].dead then n = n + ring.waiting end
  end
  return n
end

local next_time = 0

--- Has the graph of `engine` and of the `workers` ended? `retired` are {handed =,
--- taken =} of workers that are no more, rings() is core.cpus.rings.list. Looks
--- 200 times a second at most. Raises a failure if it has, by a damaged file.
function termination.everywhere(engine, workers, retired, rings)
  if C.pg_monotonic() < next_time then return false end
  next_time = C.pg_monotonic() + PERIOD_SECONDS
  local first = ask(engine, workers)
  if not first or not first.ends then return false end
  local on_their_way = first.handed - first.taken
    + tonumber(retired.handed) - tonumber(retired.taken) - stranded(workers, rings())
  if on_their_way ~= 0 then return false end
  local second = ask(engine, workers)
  if not second or second.handed ~= first.handed or second.taken ~= first.taken then
    return false
  end
  if second.damage then failure.raise("%s", second.damage) end
  return true
end

return termination
