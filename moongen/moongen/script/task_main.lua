-- SPDX-License-Identifier: Apache-2.0
-- What runs in a task's thread and Lua state (native/dpdk/worker.c): the script's top
-- level, and then the function the task was started for.

jit.opt.start("sizemcode=512", "maxmcode=65536", "maxtrace=20000",
  "maxrecord=20000", "maxirconst=10000", "maxsnap=2000", "maxside=1000")

require("core.luajit")
local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
require("core.declare")("native/threads.h")
local ends = require("moongen.tasks.ends")
local errors = require("moongen.tasks.errors")
local exits = require("moongen.tasks.exits")
local main = require("core.main")
local open_files = require("moongen.tasks.open_files")
local paths = require("moongen.script.paths")
local serialize = require("moongen.tasks.serialize")
local shown = require("moongen.watch.shown")
local this_engine = require("core.this_engine")

local worker, examined
local starting = true

-- The clocks of setRuntime and of an examination stand until then.
local function begin()
  if starting then ends.task_began() end
  starting = false
end

local function next_message()
  local size = tonumber(C.pg_worker_next(worker, C.TO_WORKER))
  while size < 0 do
    C.pg_worker_wait(worker, C.TO_WORKER, 1)
    size = tonumber(C.pg_worker_next(worker, C.TO_WORKER))
  end
  local text = ffi.new("char[?]", size + 1)
  C.pg_worker_take(worker, C.TO_WORKER, text)
  return ffi.string(text, size)
end

local function post(...)
  local text = serialize.encode(...)
  C.pg_worker_post(worker, C.FROM_WORKER, text, #text)
end

-- The name of the task is that of its function; some look at it.
local function name_task(setup)
  rawset(_G, "LIBMOON_TASK_NAME", setup.name)
  rawset(_G, "LIBMOON_TASK_ID", setup.id)
end

local function run(setup, arguments)
  local state = require("moongen.script.state")
  if setup.examined then
    examined = require("moongen.script.examined")
    examined.prepare(setup.name, setup.examined)
  end
  state.prepare(setup.script, false)
  name_task(setup)
  state.run(setup.script)
  local f = rawget(_G, setup.name)
  if type(f) ~= "function" then
    error(("the script has no global function '%s'"):format(setup.name), 0)
  end
  begin()
  if examined then return examined.call(f, serialize.decode(arguments)) end
  return f(serialize.decode(arguments))
end

-- Write what the script left in its writers. Did that go well?
local function close_files(name)
  local closed, err = xpcall(open_files.close_all, errors.explain)
  if not closed then errors.tell(name, err) end
  return closed
end

local function finish(name, ok, ...)
  local closed = close_files(name)
  io.stdout:flush()
  if ok and not closed then return post("failed", 1) end
  if ok then
    local encoded, problem = pcall(post, "returned", ...)
    if encoded then return end
    errors.tell(name, {text = "its results: " .. tostring(problem)})
    post("failed", 1)
    return
  end
  local err = ...
  if err.exit then return end
  errors.tell(name, err)
  post("failed", err.status or 1)
end

return function (handle)
  worker = ffi.cast("struct worker *", handle)
  this_engine.become(worker)
  local setup = serialize.decode(next_message())
  shown.this_task(setup.shown)
  if setup.shared then C.pg_helper_thread() end
  main.root = setup.root
  for _, dir in ipairs(setup.trees) do paths.add_tree(dir) end
  local arguments = next_message()
  local function outcome(...)
    begin() -- if it failed before
    return ...
  end
  finish(setup.name, outcome(xpcall(run, errors.explain, setup, arguments)))
  if examined then post("examined", examined.found()) end
  exits.check()
  collectgarbage()
  io.stdout:flush()
end
