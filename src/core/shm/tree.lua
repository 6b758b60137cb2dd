-- SPDX-License-Identifier: Apache-2.0
-- The directory tree behind core.shm: where it is, who may be in it, how it is made and
-- removed. Removal never follows a symbolic link, so it can't leave the tree.

local ffi = require("ffi")
local dirent = require("posix.dirent")
local errno = require("posix.errno")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local failure = require("core.lib.failure")
local process = require("core.lib.process")

local SYSTEM_ROOT = "/var/run/snabb"
local MEMORY = "/dev/shm"
local TMPFS_MAGIC = 0x01021994 -- <linux/magic.h>
local OWN_ROOT = "/var/run/perigee" -- of root's, where somebody took the others
local ROOT_MODE = 493 -- rwxr-xr-x: names of processes; what they have is their own
local OWN, OWN_FILE = 448, 384 -- rwx------, rw-------
local SHARED, SHARED_FILE = 488, 416 -- rwxr-x---, rw-r-----

local tree = {}

local function is_writable(path)
  return unistd.access(path, "wx") == 0
end

ffi.cdef("int statfs(const char *path, void *info);")

-- Is the directory in memory? In containers /run may be on a disk, where making six
-- counters for each link takes 30 times as long.
local function in_memory(path)
  local info = ffi.new("long[64]") -- struct statfs begins with f_type
  return ffi.C.statfs(path, info) == 0 and tonumber(info[0]) == TMPFS_MAGIC
end

-- Can the directory be this user's: is it, or can it be made?
local function can_be_ours(path)
  local found = stat.stat(path)
  if found then
    return stat.S_ISDIR(found.st_mode) ~= 0 and found.st_uid == unistd.geteuid()
      and is_writable(path)
  end
  return not stat.lstat(path) and is_writable(path:match("^(.*)/"))
end

--- The root for this process and user: $SNABB_SHM_ROOT, else /var/run/snabb if it can
--- be written or made and is in memory, else a directory of the user's own. One that
--- belongs to another user, who may have been first to take the name, is passed over.
function tree.choose_root()
  local chosen = process.getenv("SNABB_SHM_ROOT")
  if chosen then return (chosen:gsub("(.)/+$", "%1")) end
  local uid = unistd.geteuid()
  local places = {SYSTEM_ROOT, OWN_ROOT, ("/run/user/%d/snabb"):format(uid)}
  if not in_memory("/var/run") and in_memory(MEMORY) then
    local own = uid == 0 and MEMORY .. "/snabb" or MEMORY .. "/snabb-" .. uid
    table.insert(places, 1, own)
  end
  for _, place in ipairs(places) do
    if can_be_ours(place) then return place end
  end
  return "/tmp/snabb-" .. uid
end

--- Does `path` lead to anything?
function tree.exists(path)
  return stat.stat(path) ~= nil
end

-- Errors that say there is no room.
local EDQUOT = 122 -- <asm-generic/errno.h>
local NO_ROOM = {[errno.ENOSPC] = true, [errno.ENOMEM] = true, [EDQUOT] = true,
                 [errno.EMFILE] = true, [errno.ENFILE] = true}

--- Raise a failure for the error number `code`, with the rest as for failure.raise.
function tree.refuse(code, fmt, ...)
  if NO_ROOM[code] then failure.no_room(fmt, ...) end
  failure.raise(fmt, ...)
end

local group_number, group_name -- of the one whose members may read, or nil

--- Let members of the group of that number read what this process has; `name`: as the
--- user calls it.
function tree.share_with(gid, name) group_number, group_name = gid, name end

--- That number, or nil.
function tree.group() return group_number end

--- The mode of a file that is made.
function tree.file_mode() return group_number and SHARED_FILE or OWN_FILE end

--- Give the file or folder to that group, if there is one. A usage failure if this
--- process may not: it would be shared with another group.
function tree.give_to_group(path, mode)
  if not group_number then return end
  local found = stat.stat(path)
  local ok, reason, code = found and found.st_gid == group_number
  if not ok then -- a service's filter may forbid this call
    ok, reason, code = unistd.chown(path, unistd.geteuid(), group_number)
  end
  if not ok and code == errno.EPERM then
    failure.usage("--group %s: only root and its members can let that group read; join "
      .. "it (usermod -aG), or name another", group_name)
  elseif not ok then
    failure.raise("'%s' can't be given to group '%s': %s", path, group_name, reason)
  end
  stat.chmod(path, mode)
end

--- Let only those read the file who may read what this process has.
function tree.protect(path)
  stat.chmod(path, tree.file_mode())
  tree.give_to_group(path, tree.file_mode())
end

--- A line of text for who watches the process, as the file `path`: who reads it finds
--- all of the line, or of the one before. Without room there is none.
function tree.tell(path, line)
  local new = path .. ".new"
  local file = io.open(new, "w")
  if not file then return end
  tree.protect(new)
  local done = file:write(line, "\n")
  done = file:close() and done
  if done then os.rename(new, path) else os.remove(new) end
end

--- Make the directory `path`, for this user alone, or with the `mode`, unless it is
--- there.
function tree.make_directory(path, mode)
  local ok, reason, code = stat.mkdir(path, mode or OWN)
  if ok and not mode then tree.give_to_group(path, SHARED) end
  if not ok and code ~= errno.EEXIST then
    local named = process.getenv("SNABB_SHM_ROOT")
    tree.refuse(code, "can't make the shared memory directory%s: %s%s",
      named and ", which SNABB_SHM_ROOT names" or "", reason,
      named and "" or "; let SNABB_SHM_ROOT name a folder that can be written to")
  end
end

--- Make the directory `path`, for this user alone, in one that is there. False if that
--- isn't, or it can't be made.
function tree.make_in_place(path)
  local ok, _, code = stat.mkdir(path, OWN)
  if ok then tree.give_to_group(path, SHARED) end
  return ok ~= nil or code == errno.EEXIST
end

-- Where the tree is in memory instead of under /var/run, tools that look there are led
-- to it, if nothing else is there.
local function lead_to(root)
  if root == MEMORY .. "/snabb" and not stat.lstat(SYSTEM_ROOT) then
    unistd.link(root, SYSTEM_ROOT, true)
  end
end

--- Make the directory `root` and those above it. Where anyone can take a name first,
--- it must be a directory of this user's.
function tree.make_root(root)
  if not tree.exists(root) then
    local start = root:find("^/") and "" or "."
    local mask = stat.umask(0)
    local ok, err = pcall(tree.make_directories, start, root, ROOT_MODE)
    stat.umask(mask)
    if not ok then error(err, 0) end
  end
  lead_to(root)
  if root:find("^/tmp/") or root:find("^/dev/shm/") then
    local found = stat.lstat(root)
    if stat.S_ISDIR(found.st_mode) == 0 or found.st_uid ~= unistd.geteuid() then
      failure.raise("%s is not a directory of this user's: remove it, or set "
        .. "SNABB_SHM_ROOT to another", root)
    end
  end
end

--- Make the directory `path` under `root`, and those between; for this user alone, or
--- with the `mode`.
function tree.make_directories(root, path, mode)
  local directory = root
  for name in path:gmatch("[^/]+") do
    directory = directory .. "/" .. name
    tree.make_directory(directory, mode)
  end
end

--- The names in the directory, sorted, without hidden ones; none if it can't be read.
function tree.names(directory)
  local listed, all = pcall(dirent.dir, directory)
  local names = {}
  for _, name in ipairs(listed and all or {}) do
    if name:sub(1, 1) ~= "." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- Remove the file, link or directory with all in it. Returns true, or nil and the
--- reason.
function tree.remove(path)
  local found, reason = stat.lstat(path)
  if not found then return nil, reason end
  if stat.S_ISDIR(found.st_mode) ~= 0 then
    local listed, names = pcall(dirent.dir, path)
    for _, name in ipairs(listed and names or {}) do
      if name ~= "." and name ~= ".." then tree.remove(path .. "/" .. name) end
    end
    local removed, why = unistd.rmdir(path)
    return removed == 0 or nil, why
  end
  local removed, why = unistd.unlink(path)
  return removed == 0 or nil, why
end

return tree
