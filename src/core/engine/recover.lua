-- SPDX-License-Identifier: Apache-2.0
-- Going on after an error in an app, as its policy says (core.on_error): the app is
-- stopped, and rebuilt or replaced by a stand-in. Called between breaths.

local C = require("core.native")
local config = require("core.config")
local drops = require("core.fuse.drops")
local errors = require("core.engine.errors")
local failure = require("core.failure")
local graph = require("core.engine.graph")
local instance = require("core.engine.instance")
local link = require("core.link")
local log = require("core.lib.log")
local mode = require("core.check.mode")
local on_error = require("core.on_error")
local packet = require("core.packet")
local pool = require("core.pool")
local settings = require("core.engine.settings")
local shm = require("core.shm")
local stand_in = require("core.engine.stand_in")

local settle = mode.on and require("core.check.record").settle or function () end

local recover = {}

--- The time at which recover.start_again() has something to do.
recover.next_start = math.huge

local due = {} -- by app: when to try again, the stand-in until then, and the error

-- Telling ----------------------------------------------------------------

local function say(fmt, ...)
  log.error(fmt, ...)
end

-- Count the error; told if it is the first of its cause.
local function note(name, err)
  settle(err)
  local first = errors.note(name, tostring(err))
  if first then say("%s", tostring(err)) end
  return first
end

-- Packets ----------------------------------------------------------------

local function addresses_in_links()
  local set = {}
  for _, l in pairs(graph.links) do
    for i = 0, link.nreadable(l) - 1 do
      local slot = bit.band(tonumber(l.read + i), C.LINK_RING_SIZE - 1)
      set[shm.pointer_to_number(l.packets[slot])] = true
    end
  end
  return set
end

-- Drop the packets that the app was at, which it has neither freed nor sent. If so many
-- were freed meanwhile that the free list was spilled, nobody knows: they are held.
local function drop_all(app, packets, spilled)
  if #packets == 0 or pool.freelist.spilled ~= spilled then return end
  local elsewhere, dropped = addresses_in_links(), 0
  for _, p in ipairs(packets) do
    local address = shm.pointer_to_number(p)
    if p ~= nil and not elsewhere[address] and not pool.has_free(p) then
      elsewhere[address], dropped = true, dropped + 1
      packet.free(p)
    end
  end
  if dropped > 0 then drops.add(app, "error", dropped) end
end

-- Replacing an app -------------------------------------------------------

-- Stop the running app, which was given `packets`; what it has dropped is counted on by
-- what comes after it.
local function stop(name, packets)
  local app, spilled = graph.apps[name], pool.freelist.spilled
  graph.account()
  drops.withdraw(name)
  errors.withdraw(name)
  local ok, err = pcall(instance.stop, app)
  if not ok then note(name, err) end
  drop_all(app, packets, spilled)
end

local others = {} -- what other apps raised meanwhile (graph.put)

local function put(name, app)
  local problem, list = graph.put(name, app)
  for _, other in ipairs(list) do others[#others + 1] = other end
  return problem
end

local function start(name)
  local app = instance.start(name, graph.configuration().apps[name])
  local problem = put(name, app)
  if problem then
    pcall(instance.stop, app)
    error(problem, 0)
  end
end

-- Make the app anew; if that fails, packets for it are dropped until the next try.
-- False and why, if it has been too often.
local function restart(name, policy, tell)
  if on_error.too_many(errors.past_restarts(name), policy, C.pg_monotonic()) then
    return false, ("it isn't started again, as it was %d times within %g s"):format(
      policy.times, policy.seconds)
  end
  errors.count_restart(name)
  local ok, err = pcall(start, name)
  if ok then
    if tell then say("app '%s' runs again", name) end
    return true
  end
  note(name, err)
  local dropping = stand_in.dropping(name)
  put(name, dropping)
  due[name] = {time = C.pg_monotonic() + on_error.PAUSE_SECONDS, app = dropping,
               err = err}
  return true
end

local act = {restart = restart}

function act.drop(name)
  put(name, stand_in.dropping(name))
  say("app '%s' is stopped: packets for it are dropped", name)
  return true
end

function act.bypass(name, policy)
  local output = on_error.output_beside(graph.configuration(), config, name,
    graph.apps[name])
  if not output then return act.drop(name, policy) end
  local passing = stand_in.bypassing(name, output)
  errors.bypassed_by(name, passing)
  put(name, passing)
  say("app '%s' is stopped: packets bypass it, to its output '%s'", name, output)
  return true
end

-- What the engine calls --------------------------------------------------

local function set_next()
  recover.next_start = math.huge
  for _, entry in pairs(due) do
    recover.next_start = math.min(recover.next_start, entry.time)
  end
end

-- The failure to raise for the app, which was too often in need of a new start.
local function give_up(name, why, err)
  local _, raised = pcall(failure.raise, "app '%s': %s; its last error: %s", name, why,
    tostring(err):match("^[^\n]*"))
  raised.app, raised.rescued, raised.final = name, true, true
  return raised
end

-- Carry out the policy of the app `name`, which has raised `err` when it was given
-- `packets`, a list.
local function carry_out(name, err, packets)
  local policy = on_error.of(graph.configuration(), config, name, graph.apps[name],
    settings.on_error)
  if policy.policy == "stop" then return false, err end
  local tell = note(name, err)
  stop(name, packets)
  local ok, why = act[policy.policy](name, policy, tell)
  if ok then return true end
  put(name, stand_in.dropping(name))
  return false, give_up(name, why, err)
end

-- What an app has raised meanwhile, of which that may be not the first.
local function carry_out_other(err)
  local name, packets = err.app, err.packets or {}
  if not (name and graph.apps[name]) then return false, err end
  if graph.apps[name] == err.instance then return carry_out(name, err, packets) end
  note(name, err)
  drop_all(graph.apps[name], packets, pool.freelist.spilled)
  return true
end

-- The same, and those of the apps that raise something meanwhile.
local function carry_out_all(name, err)
  local ok, why = carry_out(name, err, graph.take_at_hand())
  while ok and #others > 0 do ok, why = carry_out_other(table.remove(others, 1)) end
  return ok, why
end

-- Call f(...), watched by nobody, since it may take its time. If the engine can't go on
-- after that, it is still known whether the watchdog had stopped it.
local function at_leisure(f, ...)
  local work, watched = C.pg_at_work(), C.pg_watch(false)
  local interrupted = work.interrupted
  work.interrupted = 0
  others = {}
  local called, ok, why = xpcall(f, failure.explain, ...)
  C.pg_watch(watched)
  set_next()
  if not (called and ok) then work.interrupted = interrupted end
  if not called then return false, ok end
  return ok, why
end

--- An error has come out of a breath. True if the engine can go on: the app that raised
--- it has been dealt with. Else false and what to raise.
function recover.from(err)
  local name = settings.failing
  local final = failure.is(err) and err.final
  if final or not (name and graph.apps[name]) then return false, err end
  return at_leisure(carry_out_all, name, err)
end

local function start_due()
  local now = C.pg_monotonic()
  for _, name in ipairs(config.sorted_keys(due)) do
    local entry = due[name]
    if graph.apps[name] ~= entry.app then
      due[name] = nil -- the program has changed it
    elseif now >= entry.time then
      due[name] = nil
      local policy = on_error.of(graph.configuration(), config, name, entry.app,
        settings.on_error)
      local ok, why = restart(name, policy, true)
      if not ok then return false, give_up(name, why, entry.err) end
    end
  end
  return true
end

--- Try to start the apps again that didn't start. Raises a failure if that was too
--- often.
function recover.start_again()
  local ok, why = at_leisure(start_due)
  if not ok then error(why, 0) end
end

return recover
