-- SPDX-License-Identifier: Apache-2.0
-- Whom a process stands by for (--standby): the one that has the lock of its name
-- (net.keep.keep). The kernel releases that first of all that a process had open; a
-- pidfd (pidfd_open(2)) says when everything is closed: after a ring of AF_PACKET that
-- takes a tenth of a second. Of several that wait the lock chooses one.

local C = require("core.native")
local dead_socket = require("core.outside.dead_socket")
local dirent = require("posix.dirent")
local ending = require("net.keep.ending")
local fcntl = require("posix.fcntl")
local failure = require("core.failure")
local file_lock = require("core.lib.file_lock")
local log = require("core.lib.log")
local main = require("core.main")
local outside = require("core.outside.visitors")
local owner = require("core.shm.owner")
local pool = require("core.pool")
local shm = require("core.shm")
local stat = require("posix.sys.stat")
local standby = require("core.outside.standby")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local M = {turn = standby}

local F_DUPFD_CLOEXEC, LAST_FD = 1030, 8192 -- <linux/fcntl.h>
local LOOK_MS = 5 -- between looks at the lock

local wanted, named = false, false
local referee = {}

--- The option --standby was given. `decides`, optional, has a say in whose turn it is
--- (lib.replica.turn): holds_back(name) says for whom this process waits though nobody
--- has the name, a text, or nil; is_let_go(name, pid): does that process, which has it,
--- let go of it without ending?
function M.want(decides)
  wanted, referee = true, decides or referee
end

--- Refuse --standby without a name to stand by for.
function M.check()
  if wanted and not named then
    failure.usage("--standby: give the name that the other process has, by --keep NAME")
  end
end

local function text_of(path)
  local file = io.open(path)
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

-- The device of the file system, as /proc/locks has it: what stat() says of a file is
-- another number on some (Btrfs).
local function device_of(fd)
  local mount = text_of("/proc/self/fdinfo/" .. fd):match("mnt_id:%s*(%d+)")
  for id, major, minor in text_of("/proc/self/mountinfo"):gmatch(
      "(%d+) %d+ (%d+):(%d+) [^\n]*\n") do
    if id == mount then return ("%02x:%02x"):format(major, minor) end
  end
end

--- The process that has locked what `fd` is open on (/proc/locks, or `locks`, a text
--- like it), or nil: in another pid namespace, or meanwhile nobody. Files of other file
--- systems may have the same number.
function M.holder(fd, locks)
  local inode, device = stat.stat("/proc/self/fd/" .. fd).st_ino, device_of(fd)
  for pid, on, found in (locks or text_of("/proc/locks")):gmatch(
      "FLOCK +%S+ +WRITE +(%d+) (%x+:%x+):(%d+)") do
    if tonumber(found) == inode and on == (device or on) then return tonumber(pid) end
  end
end

-- SIGTERM and the like end a process that waits as they end one that runs.
local function end_if_told()
  local number = C.pg_signal()
  if number == 0 then return end
  local _, err = pcall(failure.raise, "%s came while it stood by",
    main.SIGNALS[number] or "a signal")
  err.status = 0
  error(err, 0)
end

--- The descriptor by a number above all others. The kernel closes a process's files in
--- the order of their numbers, and lets go of the last one first (task_work_run): a
--- standby knows of the end before rings are taken down.
function M.last_closed(fd)
  for _, number in ipairs{LAST_FD, LAST_FD / 16} do
    local high = fcntl.fcntl(fd, F_DUPFD_CLOEXEC, number)
    if high and high >= 0 then
      unistd.close(fd)
      return high
    end
  end
  return fd
end

-- What `perigee ps` shows.
local function show(text) tree.tell(shm.path("standby"), text) end

-- It runs: `perigee upgrade` waits for that.
local function show_turn(name)
  shm.mkdir(shm.resolve("in-charge"):match("^[^/]*"))
  tree.tell(shm.path("in-charge"), name)
  os.remove(shm.path("standby"))
end

-- Whom the process waits for though nobody has the name; nil: it may have it.
local function held_back(name)
  return referee.holds_back and referee.holds_back(name)
end

-- A descriptor that tells of the end of who has the lock now, if there is one; a text
-- that says who it is; and its process id, if that is known.
-- `master`: the process waits for that first.
local function look(fd, name, master)
  local pid = M.holder(fd)
  local ends = pid and not (master or referee.is_let_go
    and referee.is_let_go(name, pid))
  local whom = master or pid and "process " .. pid
    or "a process of another pid namespace"
  log.info("--keep %s: ready, stands by for %s", name, whom)
  return ends and ending.pidfd(pid) or nil, whom, pid
end

--- The file, in the folder of all names, that says which process is to have the name
--- next, before others that wait for it (`perigee upgrade`): core.shm.owner.name_of().
function M.next_path(folder, name) return ("%s/.%s.next"):format(folder, name) end

--- The file, in the folder of the name below that of all names, that says which process
--- had it last: core.shm.owner.name_of().
function M.holder_path(folder, name) return ("%s/%s/.holder"):format(folder, name) end

--- The Unix socket at which the process `pid`, which waits for the name, takes what the
--- other one passes on.
function M.passing_path(folder, name, pid)
  return ("%s/.%s.%d.passed"):format(folder, name, pid)
end

--- The process that the file `next_path` names, if it runs; nil otherwise, also if
--- another process has its number now.
function M.next(next_path)
  local file = io.open(next_path)
  local text = file and file:read("*l")
  if file then file:close() end
  return text and owner.named(text)
end

--- Remove what processes that were killed have left of upgrades of the name.
function M.sweep(folder, name)
  local next_path = M.next_path(folder, name)
  if not M.next(next_path) then os.remove(next_path) end
  local others = "^%." .. name:gsub("%p", "%%%0") .. "%.%d+%.passed$"
  local listed, all = pcall(dirent.dir, folder)
  for _, file in ipairs(listed and all or {}) do
    if file:match(others) then dead_socket.remove(folder .. "/" .. file) end
  end
end

-- Is another process that waits to go first?
local function is_passed_over(next_path)
  local pid = M.next(next_path)
  return pid and pid ~= unistd.getpid()
end

-- Wait until the lock on `fd` is this process's. Returns what waits for the end of the
-- one that had it.
local function wait(fd, name, folder)
  local next_path = M.next_path(folder, name)
  C.pg_catch_signals()
  local pidfd, pid, whom, master
  local function forget()
    if pidfd then unistd.close(pidfd) end
    pidfd, whom = nil, nil
  end
  local function try()
    local now = held_back(name)
    if now ~= master then forget() end
    master = now
    return not master and not is_passed_over(next_path) and file_lock.try(fd)
  end
  while not try() do
    if not whom then
      pidfd, whom, pid = look(fd, name, master)
      show(name)
    end
    outside.standing_by(("%s, which has the name %s"):format(whom, name))
    if ending.wait(pidfd, LOOK_MS) then -- another one that waited may be faster
      unistd.close(pidfd)
      pidfd = nil
      if try() then break end
      C.pg_sleep(LOOK_MS / 1000)
      whom = nil
    end
    end_if_told()
  end
  standby.after(show_turn, name)
  log.info("--keep %s: %s, takes over", name, whom and whom .. " ends"
    or "nobody has the name")
  C.pg_release_signals()
  if pidfd then return ending.awaiting(pidfd, pid) end
  return ending.of(M.holder_path(folder, name))
end

--- If --standby was given: take the turn now, if the lock on `fd`, of the name, is
--- free, or when whoever has it ends; begin() is called then. False: it wasn't given.
--- `folder` is that of all names (next_path).
function M.take_turn(fd, name, begin, folder)
  named = true
  if not wanted then return false end
  if not held_back(name) and file_lock.try(fd) then
    standby.await(ending.of(M.holder_path(folder, name)))
    begin()
    show_turn(name)
  else
    standby.begin(function ()
      pool.create() -- and with it DPDK
      local await_end = wait(fd, name, folder)
      begin()
      return await_end
    end)
  end
  return true
end

return M
