-- SPDX-License-Identifier: Apache-2.0
-- Worker processes: each runs a chunk of Lua code in a process of its own, with the
-- same options as this one, and ends with it. Workers share the folder `group` of
-- their parent's shared memory.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local shm = require("core.shm")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

local worker = {}

ffi.cdef[[
int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
          unsigned long d);
int kill(int pid, int signal);
]]

local PR_SET_PDEATHSIG = 1 -- linux/prctl.h; it outlives execve
local SIGHUP, SIGKILL = 1, 9
local EXEC_FAILED = 126 -- the exit status of a worker that couldn't begin

local children = {} -- {[NAME] = {pid =, ended =, status =}}

-- In the new process: become `perigee OPTIONS` with the code to run.
local function become(name, code, parent, group)
  ffi.C.prctl(PR_SET_PDEATHSIG, SIGHUP, 0, 0, 0)
  if unistd.getppid() ~= parent then os.exit(EXEC_FAILED) end -- it died meanwhile
  shm.alias("group", group)
  require("posix.stdlib").setenv("SNABB_PROGRAM_LUACODE", code, true)
  local argv = {[0] = ("[snabb worker '%s' for %d]"):format(name, parent)}
  for i, option in ipairs(require("core.main").options) do argv[i] = option end
  local _, err = unistd.exec("/proc/self/exe", argv)
  io.stderr:write(("perigee: worker '%s' can't start: %s\n"):format(name, err))
  unistd._exit(EXEC_FAILED)
end

-- Take note of a worker that ended.
local function look_after(child)
  if child.ended then return end
  local pid, how, status = wait.wait(child.pid, wait.WNOHANG)
  if pid == child.pid then
    child.ended = true
    child.status = status
  elseif not pid then
    child.ended = how == "No child processes" -- somebody else waited for it
  end
end

--- Start a worker that runs the Lua `code` (a string); returns its process id.
--- A worker of the name that still runs goes on by itself: stop it first.
function worker.start(name, code)
  if type(code) ~= "string" then
    failure.usage("worker '%s': give its Lua code as a string, not a %s",
      tostring(name), type(code))
  end
  if C.pg_sandboxed() then
    failure.raise("worker '%s': --sandbox lets no process start once packets flow; "
      .. "start it before engine.main()", tostring(name))
  end
  shm.mkdir(shm.resolve("group"))
  io.stdout:flush()
  io.stderr:flush()
  local parent, group = unistd.getpid(), "/" .. shm.resolve("group")
  local pid, err = unistd.fork()
  if pid == 0 then become(name, code, parent, group) end
  if not pid then failure.raise("can't start worker '%s': %s", name, err) end
  children[name] = {pid = pid}
  return pid
end

--- Kill the worker (SIGKILL).
function worker.stop(name)
  local child = children[name]
  if not child then error(("no such child: %s"):format(tostring(name)), 2) end
  look_after(child)
  if not child.ended then ffi.C.kill(child.pid, SIGKILL) end
end

--- The workers started: {[NAME] = {pid =, alive = BOOLEAN, status =}}, where status
--- is the exit status, or the signal's number, of one that ended.
function worker.status()
  local status = {}
  for name, child in pairs(children) do
    look_after(child)
    status[name] = {pid = child.pid, alive = not child.ended, status = child.status}
  end
  return status
end

return worker
