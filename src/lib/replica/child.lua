-- SPDX-License-Identifier: Apache-2.0
-- --replicate: the replicator of this process's name as its child. Between the two is a
-- keeper, forked before the process has DPDK, threads or a sandbox: it starts the
-- replicator, again when that dies, and ends it, and itself, when the process ends. It
-- hears of that by a pipe, whose other end nobody else has.

local C = require("core.native")
local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local main = require("core.main")
local options = require("lib.replica.options")
local outside = require("core.outside.visitors")
local poll = require("posix.poll").rpoll
local process = require("core.lib.process")
local signal = require("posix.signal")
local standby = require("net.keep.standby")
local stdlib = require("posix.stdlib")
local tls = require("lib.replica.tls")
local tree = require("core.shm.tree")
local turn = require("lib.replica.turn")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

local child = {}

local LOOK_MS = 200                  -- between looks at the replicator
local FIRST_PAUSE_S, LONGEST_PAUSE_S = 1, 30 -- before it is started again
local LONG_S = 60                    -- that runs well
local CAN_NOT_RUN = 127
local PASSED_ON = {["--group"] = true, ["--log-format"] = true, ["--log-level"] = true}

local words -- as the option has them

--- The words of the text, ADDRESS[:PORT] and options of `perigee replicate`. `what` has
--- them, for a sentence: raises a usage failure if something is wrong.
function child.words(what, text)
  local list = {}
  for word in text:gmatch("%S+") do list[#list + 1] = word end
  if options.parse{"name", unpack(list)}.role then
    failure.usage("%s: the role can't be given here: `perigee notify` says it", what)
  end
  return list
end

--- The option was given, with this text. The process stands by then: its host may be
--- backup.
function child.want(text)
  words = child.words("--replicate", text)
  turn.replicated = true
  standby.want(turn)
end

-- The replicator's command.
local function command(name)
  local list = {"perigee"}
  for i, word in ipairs(main.options) do
    if PASSED_ON[word] then
      list[#list + 1] = word
      list[#list + 1] = main.options[i + 1]
    end
  end
  local parent = tostring(unistd.getpid())
  for _, word in ipairs{"replicate", name, "--parent", parent} do
    list[#list + 1] = word
  end
  for _, word in ipairs(words) do list[#list + 1] = word end
  return list
end

-- The keeper

-- What the process has open, among it the lock of the name, isn't the keeper's.
local function close_all_but(pipe)
  for _, entry in ipairs(tree.names("/proc/self/fd")) do
    local fd = tonumber(entry)
    if fd and fd > 2 and fd ~= pipe then unistd.close(fd) end
  end
end

local function start(list)
  local pid = unistd.fork()
  if pid ~= 0 then return pid end
  local _, reason = process.execv("/proc/self/exe", list)
  log.error("--replicate: can't run perigee: %s", tostring(reason))
  unistd._exit(CAN_NOT_RUN)
end

-- Wait until the replicator has ended, or nobody has the pipe's other end: true.
local function watch(pid, pipe)
  while wait.wait(pid, wait.WNOHANG) ~= pid do
    if poll(pipe, LOOK_MS) == 1 then
      signal.kill(pid, signal.SIGTERM)
      wait.wait(pid)
      return true
    end
  end
end

local function keeper(name, pipe)
  unistd.setpid("s") -- Ctrl-C is for the process
  close_all_but(pipe)
  stdlib.setenv("NOTIFY_SOCKET", nil)
  stdlib.setenv("WATCHDOG_PID", nil)
  local list, pause = command(name), FIRST_PAUSE_S / 2
  while true do
    local began = os.time()
    local pid = start(list)
    if pid and watch(pid, pipe) then return end
    pause = os.time() - began >= LONG_S and FIRST_PAUSE_S
      or math.min(2 * pause, LONGEST_PAUSE_S)
    log.warning("--replicate: the replicator of '%s' has ended; another one starts in "
      .. "%d s", name, pause)
    if poll(pipe, 1000 * pause) == 1 then return end
  end
end

-- The process -------------------------------------------------------------------------

local LOOK_S = 1

-- Says if the keeper has ended, which it doesn't by itself.
local function look_after(pid)
  local next_look = 0
  outside.let_in{tend = function (now)
    if not pid or now < next_look then return end
    next_look = now + LOOK_S
    if wait.wait(pid, wait.WNOHANG) ~= pid then return end
    pid = nil
    if C.pg_signal() ~= 0 then return end -- that came to both
    log.error("--replicate: nothing is replicated any more: the replicator's keeper "
      .. "was killed; start this process again")
  end}
end

--- Start it, if it is wanted: before the process has threads.
function child.begin()
  if not words then return end
  local name = keep.name()
  if not name then
    failure.usage("--replicate: give the name of what is replicated, by --keep NAME")
  end
  tls.token(options.parse{name, unpack(words)}.token) -- fails if bad
  io.stdout:flush()
  local pipe, other_end = unistd.pipe() -- nothing is written to it
  fcntl.fcntl(other_end, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  local pid, reason = unistd.fork()
  if not pid then failure.raise("--replicate: can't start a process: %s", reason) end
  if pid > 0 then
    unistd.close(pipe)
    return look_after(pid)
  end
  unistd.close(other_end)
  local ok, err = pcall(keeper, name, pipe)
  if not ok then log.error("--replicate: %s", tostring(err)) end
  unistd._exit(ok and 0 or 1)
end

return child
