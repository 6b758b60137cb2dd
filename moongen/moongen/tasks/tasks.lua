-- SPDX-License-Identifier: Apache-2.0
-- Tasks, as the main thread sees them: threads that run a function of the script, each
-- with a Lua state of its own. What they return comes as a message when they end.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
require("core.declare")("native/threads.h")
local affinity = require("core.cpus.affinity")
local eal = require("core.eal")
local ends = require("moongen.tasks.ends")
local exits = require("moongen.tasks.exits")
local failure = require("core.failure")
local main = require("core.main")
local sandbox = require("lib.sandbox.sandbox")
local serialize = require("moongen.tasks.serialize")
local shown = require("moongen.watch.shown")
local messages = require("core.cpus.messages")
local tables = require("core.lib.tables")

local tasks = {}

local MODULE = "moongen.script.task_main"
local WAIT_SECONDS, LONGEST_WAIT = 0.001, 0.01

local Task = {}
Task.__index = Task
tasks.Task = Task

local list = {}      -- all that were started and not yet seen to have ended
local last_id = 0
local setup          -- what each task's state is told
local told = false   -- of more tasks than CPUs

--- What tasks need to know: script (its path), trees, and `examined` (or nil) for
--- moongen.script.examined. ready() is called before a task is started, and
--- found(name, what) with what each says of its examination.
--- Only the main thread calls this, and can start tasks.
function tasks.set_up(what)
  setup = what
  C.pg_helper_thread()
end

local function check_master()
  if not setup then error("This function is only available on the master task", 3) end
end

--- The CPUs that this process may use, a list.
function tasks.cpus() return affinity.cpus() end

-- Where it runs -----------------------------------------------------------------------

-- Those without a task of their own; the main thread's, the first, comes last.
local function free_cpus()
  local taken, free = {}, {}
  for _, task in ipairs(list) do
    if task.pinned then taken[task.pinned] = true end
  end
  local cpus = tasks.cpus()
  for i = 2, #cpus + 1 do
    local cpu = cpus[(i - 1) % #cpus + 1]
    if not taken[cpu] then free[#free + 1] = cpu end
  end
  return free
end

local helped -- the CPUs that threads which help have now

-- Threads that only help use what is free, or all.
local function place_helpers()
  local cpus = free_cpus()
  if #cpus == 0 then cpus = tasks.cpus() end
  local text = table.concat(cpus, ",")
  if text == helped then return end
  helped = text
  C.pg_helper_threads_on(ffi.new("int32_t[?]", #cpus, cpus), #cpus)
end

local function own_tasks()
  local n = 0
  for _, task in ipairs(list) do n = n + (task.shared and 0 or 1) end
  return n
end

-- The main thread mostly waits; a task that has a CPU with it is still alone there.
local function note_crowd()
  local n, cpus = own_tasks(), #tasks.cpus()
  if n > cpus and not told then
    told = true
    require("moongen.log"):warn("%d tasks run on %d CPUs: they take turns, so rates "
      .. "and times are less exact", n, cpus)
  end
  C.mg_crowded(#list >= cpus and 1 or 0)
end

-- The CPU for a task, or -1: any.
local function place(where)
  if where == "shared" then return -1 end
  if where == "own" then return #tasks.cpus() > 1 and free_cpus()[1] or -1 end
  local cpu = tonumber(where)
  for _, allowed in ipairs(tasks.cpus()) do
    if allowed == cpu then return cpu end
  end
  if not cpu then
    failure.usage("a task runs on the CPU of a number, not on '%s'", tostring(where))
  end
  require("moongen.log"):warn("there is no CPU %s for the task; this process may use "
    .. "%s, so it runs on one of them", tostring(where), eal.cpus())
  return place("own")
end

-- Starting ----------------------------------------------------------------------------

local function tell(task, text)
  if not C.pg_worker_post(task.handle, C.TO_WORKER, text, #text) then
    failure.raise("no memory for the arguments of task '%s'", task.name)
  end
end

local function start(where, name, ...)
  setup.ready()
  eal.start()
  sandbox.enter()
  tasks.reap()
  last_id = last_id + 1
  local pinned = place(where)
  local number = shown.task(last_id, name)
  local handle = C.pg_worker_start(last_id, pinned, MODULE, setup.path, setup.cpath)
  if handle == nil then
    failure.raise("task '%s': %s", name, ffi.string(C.pg_error()))
  end
  local task = setmetatable({id = last_id, name = name, handle = handle,
    core = math.max(pinned, 0), pinned = pinned >= 0 and pinned or nil,
    shared = where == "shared", shown = number}, Task)
  list[#list + 1] = task
  note_crowd()
  place_helpers()
  tell(task, serialize.encode({script = setup.script, trees = setup.trees,
    root = main.root, id = task.id, name = name, options = setup.options,
    shared = task.shared, shown = task.shown, examined = setup.examined}))
  ends.examination_begins()
  tell(task, serialize.encode(...))
  return task
end

--- Start the script's global function `name` with those arguments. `where`: "own",
--- "shared", or the number of a CPU.
function tasks.start(where, name, ...)
  check_master()
  if type(name) ~= "string" then
    error(("a task is started by the name of a global function, not by a %s")
      :format(type(name)), 3)
  end
  ends.task_starts()
  local ok, task = pcall(start, where, name, ...)
  if not ok then
    ends.task_began()
    error(task, 0)
  end
  return task
end

-- Ending ------------------------------------------------------------------------------

-- A thread that couldn't even begin says so with a "!".
local function take_result(task, text)
  if text:sub(1, 1) == "!" then
    ends.task_began()
    require("moongen.tasks.errors").tell(task.name, {text = text:sub(2)})
    tasks.status = 1
    return
  end
  local said = {serialize.decode(text)}
  if said[1] == "failed" then tasks.status = math.max(tasks.status or 0, said[2]) end
  if said[1] == "returned" then task.results = text end
  if said[1] == "examined" then setup.found(task.name, said[2]) end
end

local function finish(task)
  C.pg_worker_join(task.handle)
  for text in messages.from_worker, task.handle do take_result(task, text) end
  shown.no_task(task.id, task.name, task.shown)
  C.pg_worker_free(task.handle)
  task.handle = nil
end

--- See which tasks have ended; how many still run.
function tasks.reap()
  for i = #list, 1, -1 do
    local task = list[i]
    if C.pg_worker_ended(task.handle) then
      finish(task)
      table.remove(list, i)
    end
  end
  note_crowd()
  place_helpers()
  return #list
end

--- Does it still run?
function Task:isRunning()
  tasks.reap()
  return self.handle ~= nil
end

--- Wait until it has ended; what its function returned. Nothing if it raised an error.
function Task:wait()
  check_master()
  while self:isRunning() do
    C.pg_worker_wait(self.handle, C.FROM_WORKER, 0.01)
    if not C.pg_worker_ended(self.handle) then C.pg_sleep(WAIT_SECONDS) end
    exits.check()
  end
  exits.check()
  if self.results then return select(2, serialize.decode(self.results)) end
end

--- Wait until all have ended.
function tasks.wait_for_all()
  check_master()
  local wait = WAIT_SECONDS
  while tasks.reap() > 0 do
    C.pg_sleep(wait)
    wait = math.min(wait * 1.01, LONGEST_WAIT)
    exits.check()
  end
  exits.check()
end

--- Ask all tasks to end, and wait for that for up to so many seconds. The names of
--- those that still run, a list.
function tasks.end_all(seconds)
  ends.stop()
  local until_time = C.pg_monotonic() + seconds
  while tasks.reap() > 0 and C.pg_monotonic() < until_time do
    C.pg_sleep(WAIT_SECONDS)
  end
  return tables.field(list, "name")
end

return tasks
