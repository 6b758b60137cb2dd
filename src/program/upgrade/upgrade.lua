-- SPDX-License-Identifier: Apache-2.0
-- `perigee upgrade`: another process in the place of the one that has a name (--keep),
-- of this version of Perigee, and maybe with another command line. It is started as a
-- standby (net.keep.standby) while the old one runs; that ends once this one is ready.

local atomic_file = require("core.lib.atomic_file")
local cli = require("lib.cli")
local C = require("core.native")
local failure = require("core.failure")
local file_lock = require("core.lib.file_lock")
local instances = require("lib.observe.instances")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local main = require("core.main")
local notify = require("lib.service.notify")
local other = require("program.upgrade.other")
local owner = require("core.shm.owner")
local patience = require("core.lib.patience")
local previous = require("program.upgrade.previous")
local reload = require("program.upgrade.reload")
local signal = require("posix.signal")
local standby = require("net.keep.standby")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local M = {summary = "put another process in the place of the one with a name (--keep)"}

--- Why --sandbox is refused.
M.no_sandbox = "it starts a program"

local PAUSE_S = 0.01

-- Wait until f() is true: true; or why not: "it ended", or that time is up, so many
-- seconds in which the process had a CPU, or needed none. `stops`: a signal ends that,
-- too.
local function wait_for(new, seconds, f, stops)
  local limit = patience.new(seconds, new)
  repeat
    local status = other.status(new)
    local signalled = stops and C.pg_signal() or 0
    if signalled ~= 0 then
      return false, (main.SIGNALS[signalled] or "a signal") .. " came"
    end
    if status then return false, "it ended with the status " .. status end
    if f() then return true end
    C.pg_sleep(PAUSE_S)
  until limit:over()
  return false, ("that took more than %g s"):format(seconds)
end

local function instance_of(pid)
  for _, instance in ipairs(instances.list()) do
    if instance.pid == pid then return instance end
  end
end

-- Is the process ready, and waits for the name?
local function stands_by(pid, name)
  local instance = instance_of(pid)
  return instance and instance.standby == name
end

-- Note what ran before, and that the process `new` is to have the name next.
local function note(name, before, new)
  previous.write(name, before)
  local file = atomic_file.open(standby.next_path(keep.folder(), name), true)
  file:put((owner.name_of(new) or "") .. "\n")
  file:finish()
end

-- Start the command as a standby of the process `old`, which may end before. The
-- process id; the old one runs on if that fails.
local function start(command, place, old, name, seconds, lock)
  C.pg_catch_signals() -- the new process isn't left behind
  local new = other.start(command, place)
  local ready, why = wait_for(new, seconds, function ()
    return stands_by(new, name) or standby.holder(lock) == new
  end, true)
  if ready then return new end
  signal.kill(new, signal.SIGKILL)
  failure.raise("upgrade %s: the new process wasn't ready: %s; process %d runs on",
    name, why, old)
end

-- Let the old process give way. If the new one fails then, what ran before is started
-- again.
local function exchange(lock, name, old, new, again, seconds)
  notify.tell("MAINPID=" .. new, true)
  local began = C.pg_monotonic()
  if standby.holder(lock) == old then signal.kill(old, signal.SIGTERM) end
  local done, why = wait_for(new, seconds, function ()
    local instance = instance_of(new)
    return instance and instance.in_charge == name and standby.holder(lock) == new
  end)
  os.remove(standby.next_path(keep.folder(), name))
  os.remove(standby.passing_path(keep.folder(), name, new)) -- if it was killed
  if done then
    log.info("upgrade %s: process %d has taken over from %d, in %.0f ms", name, new,
      old, 1000 * (C.pg_monotonic() - began))
    return
  end
  signal.kill(new, signal.SIGKILL)
  local pid = again()
  notify.tell("MAINPID=" .. pid, true)
  failure.raise("upgrade %s: the new process failed as it took over: %s; what ran "
    .. "before is started again, as process %d", name, why, pid)
end

-- What the process with the name ran before its last upgrade.
local function former(name)
  return previous.read(name)
    or failure.usage("upgrade %s --back: nothing ran before an upgrade", name)
end

-- Let the command that make(BEFORE) gives run in the place of the one with the name.
local function run(name, make, seconds)
  local good, problem = keep.check_name(name)
  if not good then failure.usage("'%s' is no name: %s", name, problem) end
  local path = keep.folder(name)
  local lock = tree.exists(path) and file_lock.open(path)
  local old = lock and standby.holder(lock)
  if not old then
    failure.raise("upgrade %s: no process of this pid namespace has the name; "
      .. "`perigee keep list` shows those that are in use", name)
  end
  local before = other.command_of(old)
  local command = other.standing_by(make(before))
  local place = other.place_of(old)
  local new = start(command, place, old, name, seconds, lock)
  local noted, err = pcall(note, name, before, new)
  if not noted then
    signal.kill(new, signal.SIGKILL)
    failure.raise("upgrade %s: %s; process %d runs on", name, tostring(err), old)
  end
  exchange(lock, name, old, new, function () -- it may be long until the old one ends
    return other.start(other.standing_by(before), place)
  end, seconds)
  unistd.close(lock)
end

local function run_reload(options)
  local pid = tonumber(options.name:match("^%d+$"))
  if not pid or #options.command == 0 or options.back then
    failure.usage("upgrade --reload: give the id of the process and, behind --, its "
      .. "options and program")
  end
  local name, command = reload.of(pid, options.command)
  if name then run(name, function () return command end, options.patience) end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("upgrade", "Put another process in the place of the one "
    .. "that has a name (--keep NAME): this version of Perigee with the same command "
    .. "line, or with another.")
  parser:argument("name", "The name; with --reload the process's id.")
  parser:argument("command", "Behind --: options and a program with its arguments "
    .. "(default: as the process that runs has them)."):args("*")
  parser:flag("--back", "What ran before the last upgrade, again.")
  parser:flag("--reload", "For services: let the process of this id run the command; "
    .. "SIGHUP alone if version and command are the same, and it takes that.")
  parser:option("--patience", "Seconds to wait for the new process, without those "
    .. "it waits for a CPU (default 60).", "60")
    :convert(cli.positive_number)
  local options = cli.parse(parser, args)
  if options.back and #options.command > 0 then
    failure.usage("upgrade: --back takes no command: it is what ran before")
  end
  if options.reload then return run_reload(options) end
  run(options.name, function (before)
    if options.back then return former(options.name) end
    return other.with_words(before, options.name, options.command)
  end, options.patience)
end

return M
