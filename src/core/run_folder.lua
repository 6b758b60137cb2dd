-- SPDX-License-Identifier: Apache-2.0
-- The folders that DPDK's EAL makes for processes and leaves behind: dpdk/PREFIX
-- below $RUNTIME_DIRECTORY or, where that isn't set, /var/run, for an ordinary user
-- $XDG_RUNTIME_DIR or /tmp. Perigee's are called perigee-PID-NAMESPACE, as containers
-- may share them; what ends well removes its own (native/dpdk/eal.c). Each process
-- holds a lock on its own: others see from any namespace which dead ones left.

local dirent = require("posix.dirent")
local file_lock = require("core.lib.file_lock")
local folders = require("core.shm.process_folders")
local owner = require("core.shm.owner")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

local run_folder = {}

local OWN = 448 -- rwx------

-- Is it a directory of this user's, which nobody else can write to?
local function is_ours(path)
  local found = stat.lstat(path)
  return found ~= nil and stat.S_ISDIR(found.st_mode) ~= 0
    and found.st_uid == unistd.geteuid() and found.st_mode % 64 == 0
end

-- A folder of this user's for such things: /tmp/dpdk would be the first user's alone.
local function make_own()
  local path = ("/tmp/perigee-%d"):format(unistd.geteuid())
  if not stat.lstat(path) then stat.mkdir(path, OWN) end
  if is_ours(path) then return path end
  return stdlib.mkdtemp("/tmp/perigee.XXXXXX")
end

-- A service's folder, the last that it may write to: systemd sets RUNTIME_DIRECTORY
-- to all of them, with colons between (systemd.exec(5)), and EAL takes that as the
-- name of one.
local function of_service()
  local chosen
  for path in (os.getenv("RUNTIME_DIRECTORY") or ""):gmatch("[^:]+") do
    if unistd.access(path, "rwx") == 0 then chosen = path end
  end
  stdlib.setenv("RUNTIME_DIRECTORY", chosen)
  return chosen
end

--- Where EAL will put its folder.
function run_folder.base()
  local service = of_service()
  if service then return service end
  local is_root = unistd.geteuid() == 0
  if is_root and unistd.access("/var/run", "w") == 0 then return "/var/run" end
  local chosen = os.getenv("XDG_RUNTIME_DIR")
  if not (chosen and is_ours(chosen)) then chosen = make_own() end
  -- EAL asks root's only for the first of these, and others' for the second.
  local variable = is_root and "RUNTIME_DIRECTORY" or "XDG_RUNTIME_DIR"
  if chosen then stdlib.setenv(variable, chosen) end
  return chosen or "/var/run"
end

--- What EAL is to call this process's folder (its --file-prefix).
function run_folder.name() return "perigee-" .. folders.own_suffix() end

local PATIENCE_S = 2

-- Is it of a process that has ended? In this pid namespace its number tells; to others
-- its lock does.
local function is_left(path)
  local pid, namespace = path:match("/perigee%-(%d+)%-(%d+)$")
  if not pid then return false end
  if namespace == owner.myself().namespace then
    return owner.no_process(tonumber(pid))
  end
  return not file_lock.is_held(path)
end

local lock -- on this process's folder, until it ends

local function make_and_lock(path)
  stat.mkdir(path, OWN)
  local fd = file_lock.open(path)
  if not fd then return end
  file_lock.try(fd)
  lock = fd
end

--- To be called before EAL starts: removes the (empty) folders of processes that were
--- killed, and sees to it that this user has a place for its own. With `own` EAL will
--- put this process's folder there, under its name: that is made and locked.
function run_folder.prepare(own)
  local folder = run_folder.base() .. "/dpdk"
  stat.mkdir(folder, OWN)
  local all = file_lock.take(folder, PATIENCE_S) -- none is made and not locked yet
  local ok, names = pcall(dirent.dir, folder)
  for _, name in ipairs(ok and names or {}) do
    local path = folder .. "/" .. name
    if is_left(path) then unistd.rmdir(path) end
  end
  if own and not lock then make_and_lock(folder .. "/" .. run_folder.name()) end
  if all then unistd.close(all) end
end

return run_folder
