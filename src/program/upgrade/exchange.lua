-- SPDX-License-Identifier: Apache-2.0
-- One process in the place of another that has a name (--keep). It is started as a
-- standby (net.keep.standby) while the old one runs; that ends once this one is ready.
-- If this command is killed meanwhile its guard goes on (guard.lua).

local atomic_file = require("core.lib.atomic_file")
local C = require("core.native")
local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local file_lock = require("core.lib.file_lock")
local Guard = require("program.upgrade.guard")
local instances = require("lib.observe.instances")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local main = require("core.main")
local notify = require("lib.service.notify")
local other = require("program.upgrade.other")
local owner = require("core.shm.owner")
local patience = require("core.lib.patience")
local previous = require("program.upgrade.previous")
local room = require("program.upgrade.room")
local signal = require("posix.signal")
local standby = require("net.keep.standby")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local M = {}

local PAUSE_S, GIVES_WAY_S = 0.01, 1
local OWN_FILE, OWN = 384, fcntl.O_RDWR + fcntl.O_CREAT + fcntl.O_CLOEXEC -- rw-------
local TOLD = "told" -- the old process has got SIGTERM; before that the guard hears whom
                    -- the command has started, and that it is READY
local READY = "ready"

-- Wait until f() is true: true; or why not: that it ended, or that time is up, so many
-- seconds in which the process had a CPU, or needed none. `stops`: a signal ends that,
-- too.
local function wait_for(new, seconds, f, stops)
  local limit = patience.new(seconds, new)
  repeat
    local ended = other.ended(new)
    local signalled = stops and C.pg_signal() or 0
    if signalled ~= 0 then
      return false, (main.SIGNALS[signalled] or "a signal") .. " came"
    end
    if ended then return false, ended end
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

-- The process was to have the name, and won't. What --back means stays as it was.
local function discard(o, new)
  signal.kill(new, signal.SIGKILL)
  os.remove(standby.passing_path(keep.folder(), o.name, new))
  pcall(previous.put, o.name, o.former)
end

-- Note what ran before, and that the process `new` is to have the name next.
local function note(o, new)
  previous.write(o.name, o.before)
  local file = atomic_file.open(standby.next_path(keep.folder(), o.name), true)
  file:put((owner.name_of(new) or "") .. "\n")
  file:finish()
end

-- Start the command as a standby of the old process, which may end before. The process
-- id; the old one runs on if that fails.
local function start(o, guard)
  local old = instance_of(o.old)
  room.check({keep.folder(o.name), old and old.directory}, "upgrade " .. o.name,
    ("process %d runs on"):format(o.old))
  local new = other.start(o.command, o.place, function (pid) guard:say(pid) end)
  local ready, why = wait_for(new, o.seconds, function ()
    return stands_by(new, o.name) or standby.holder(o.lock) == new
  end, true)
  if ready then return new end
  discard(o, new)
  failure.raise("upgrade %s: the new process wasn't ready: %s; process %d runs on",
    o.name, why, o.old)
end

local function tell_old(o)
  if standby.holder(o.lock) == o.old then signal.kill(o.old, signal.SIGTERM) end
end

-- Wait until the new process has the name. If it fails, what ran before is started
-- again, which may have to wait for the end of the old one.
local function see_through(o, new, began)
  local done, why = wait_for(new, o.seconds, function ()
    local instance = instance_of(new)
    return instance and instance.in_charge == o.name and standby.holder(o.lock) == new
  end)
  os.remove(standby.next_path(keep.folder(), o.name))
  if done then
    log.info("upgrade %s: process %d has taken over from %d, in %.0f ms", o.name, new,
      o.old, 1000 * (C.pg_monotonic() - began))
    return
  end
  discard(o, new)
  local pid = other.start(other.standing_by(other.still_there(o.before)), o.place)
  notify.tell("MAINPID=" .. pid, true)
  failure.raise("upgrade %s: the new process failed as it took over: %s; what ran "
    .. "before is started again, as process %d", o.name, why, pid)
end

-- One upgrade of a name at a time: that of the process that has this file's lock, as
-- its guard has.
local function path_of_lock(o)
  return ("%s/.%s.upgrade"):format(keep.folder(), o.name)
end

local function lock_out_others(o)
  local path = path_of_lock(o)
  repeat
    local fd, reason = fcntl.open(path, OWN, OWN_FILE)
    if not fd then failure.raise("upgrade %s: %s", o.name, reason) end
    if not file_lock.try(fd) then
      failure.raise("upgrade %s: another upgrade of it is under way", o.name)
    end
    local found, mine = stat.lstat(path), stat.stat("/proc/self/fd/" .. fd)
    o.alone = found and found.st_ino == mine.st_ino and fd
    if not o.alone then unistd.close(fd) end -- its upgrade has just ended
  until o.alone
end

-- The command and its guard do so, whoever is there: a file that is another upgrade's
-- by now is left alone.
local function let_others(o)
  local found = stat.lstat(path_of_lock(o))
  if found and found.st_ino == stat.stat("/proc/self/fd/" .. o.alone).st_ino then
    unistd.unlink(path_of_lock(o))
  end
  file_lock.release(o.alone)
end

-- Does the old process end by itself, or was it killed with the command?
local function gives_way(o)
  local limit = patience.new(GIVES_WAY_S, o.old)
  repeat
    if standby.holder(o.lock) ~= o.old then return true end
    C.pg_sleep(PAUSE_S)
  until limit:over()
  return false
end

-- In the guard: the command has ended, after it had said the texts of the list.
local function go_on(o, said)
  local began, new = C.pg_monotonic(), tonumber(said[1])
  if said[2] then
    if said[3] ~= TOLD then tell_old(o) end
    see_through(o, new, began)
  elseif new and not gives_way(o) then
    discard(o, new)
  end
end

local function be_guard(o, said)
  C.pg_catch_signals()
  log.warning("upgrade %s: its command was killed", o.name)
  go_on(o, said)
end

local function exchange(o, guard)
  local new = start(o, guard)
  local noted, err = pcall(note, o, new)
  if not noted then
    discard(o, new)
    failure.raise("upgrade %s: %s; process %d runs on", o.name, tostring(err), o.old)
  end
  guard:say(READY)
  notify.tell("MAINPID=" .. new, true)
  local began = C.pg_monotonic()
  tell_old(o)
  guard:say(TOLD)
  see_through(o, new, began)
end

--- Let a command run in the place of a process. `o`: name; lock, a descriptor of the
--- name's folder; old, the process that has the name; before, what it runs, and place,
--- where (program.upgrade.other); command, what is to run; seconds, how long the new
--- process may take. Raises a failure if that process doesn't run then.
function M.run(o)
  C.pg_catch_signals() -- neither the guard nor the new process is left behind
  lock_out_others(o)
  o.former = previous.text(o.name)
  local guard = Guard.begin(function (said) be_guard(o, said) end, function ()
    let_others(o)
  end)
  local ok, err = pcall(exchange, o, guard)
  guard:finish()
  let_others(o)
  if not ok then error(err, 0) end
end

return M
