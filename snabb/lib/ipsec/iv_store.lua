-- SPDX-License-Identifier: Apache-2.0
-- IVs of AES-GCM that nobody has used before, whatever the clock says: one that comes
-- twice with a key gives the plain text and the key of the tag away (RFC 4106, 3.1). So
-- all that are given out on this machine are counted in a file, for all keys together:
-- each sender gets some for itself, and the file knows of them before it uses one.

local fcntl = require("posix.fcntl")
local file_lock = require("core.lib.file_lock")
local clock = require("posix.time")
local failure = require("core.failure")
local process = require("core.lib.process")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local iv_store = {}

local FILE = "esp-ivs"
local DIGITS = 20 -- of any number of 64 bits, so that each is written over the last
local OWN, OWN_FILE = 448, 384 -- rwx------, rw-------
local COUNT = 2ULL ^ 36 -- an hour at 14.88 million packets a second
local LAST = 0xffffffffffffffffULL
-- The clock helps where the file was lost, or is that of a snapshot of the machine. A
-- wrong one may not use up all numbers: after 2116 it isn't asked.
local CREDIBLE = 2ULL ^ 62

local function mkdir_all(path)
  for at in path:gmatch("()/") do
    if at > 1 then stat.mkdir(path:sub(1, at - 1), OWN) end
  end
  stat.mkdir(path, OWN)
end

--- The folder of the file: $PERIGEE_STATE, a service's $STATE_DIRECTORY, root's
--- /var/lib/perigee, or ~/.local/state/perigee.
function iv_store.folder()
  local service = process.getenv("STATE_DIRECTORY")
  local chosen = process.getenv("PERIGEE_STATE") or service and service:match("^[^:]+")
  if chosen then return chosen end
  if unistd.geteuid() == 0 then return "/var/lib/perigee" end
  local state, home = process.getenv("XDG_STATE_HOME"), process.getenv("HOME")
  if not (state or home) then
    failure.raise("ESP counts the IVs that it has used in a file: without $HOME, set "
      .. "$PERIGEE_STATE to a folder that survives restarts")
  end
  return (state or home .. "/.local/state") .. "/perigee"
end

local function refuse(path, problem)
  failure.raise("ESP can't count in '%s' which IVs were used (%s): after a restart one "
    .. "could be used again, which gives a key away. Set $PERIGEE_STATE to a folder "
    .. "that this user can write and that survives restarts", path, problem)
end

-- luaposix's problems begin with the path, where they know it.
local function must(path, result, problem)
  if not result then refuse(path, (problem:gsub("^.*: ", ""))) end
  return result
end

-- The file, locked until it is closed. What root makes in a service's folder is
-- the service's.
local function open(folder, path)
  mkdir_all(folder)
  local fd = must(path, fcntl.open(path,
    fcntl.O_RDWR + fcntl.O_CREAT + fcntl.O_CLOEXEC, OWN_FILE))
  if unistd.geteuid() == 0 then
    local owner = stat.stat(folder)
    if owner and owner.st_uid ~= 0 then
      unistd.chown(path, owner.st_uid, owner.st_gid)
    end
  end
  file_lock.wait(fd)
  return fd
end

-- The first number that the file doesn't know as used; nil if it is new.
local function read(fd, path)
  local text = must(path, unistd.read(fd, DIGITS + 1))
  if text == "" then return nil end
  local digits = text:match("^(%d+)\n$")
  if not digits or #digits ~= DIGITS then
    refuse(path, ("it should hold %d digits, not '%s'"):format(DIGITS,
      text:gsub("[^\32-\126]", "?")))
  end
  local number = 0ULL
  for digit in digits:gmatch("%d") do number = number * 10 + tonumber(digit) end
  return number
end

local function sync_folder(folder)
  local fd = fcntl.open(folder, fcntl.O_RDONLY + fcntl.O_CLOEXEC)
  if not fd then return end
  unistd.fsync(fd)
  unistd.close(fd)
end

-- Once this is on the disk, numbers below `number` are never given out again.
local function write(fd, path, number)
  local digits = tostring(number):match("%d+")
  local text = ("0"):rep(DIGITS - #digits) .. digits .. "\n"
  must(path, unistd.lseek(fd, 0, unistd.SEEK_SET))
  if must(path, unistd.write(fd, text)) < #text then refuse(path, "it is cut off") end
  must(path, unistd.fsync(fd))
end

-- Nanoseconds since 1970, if that is credible.
local function time()
  local now = clock.clock_gettime(clock.CLOCK_REALTIME)
  local ns = now.tv_sec * 1000000000ULL + now.tv_nsec
  return ns < CREDIBLE and ns or 0ULL
end

local function take(fd, folder, path)
  local stored, first = read(fd, path), time()
  if stored and stored > first then first = stored end
  if LAST - first < COUNT then
    refuse(path, "all 2^64 numbers are used: give each association another key and "
      .. "remove the file")
  end
  write(fd, path, first + COUNT)
  if not stored then sync_folder(folder) end
  return first, first + (COUNT - 1)
end

--- The first and last of some IVs (numbers of 64 bits) that are the caller's alone.
--- What it doesn't use is lost: there are enough for 200 million callers. It waits for
--- the disk, once; fails where that can't be written.
function iv_store.reserve()
  local folder = iv_store.folder()
  local path = folder .. "/" .. FILE
  local fd = open(folder, path)
  local ok, first, last = pcall(take, fd, folder, path)
  unistd.close(fd)
  if not ok then error(first, 0) end
  return first, last
end

return iv_store
