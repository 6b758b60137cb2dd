-- SPDX-License-Identifier: Apache-2.0
-- The directories of processes in core.shm's tree: <root>/<pid>, as Snabb has them.
-- Where a process of another pid namespace has that (containers that share the root),
-- <root>/<pid>-<namespace>. What processes that ended left behind is swept.

local dirent = require("posix.dirent")
local stdio = require("posix.stdio")
local unistd = require("posix.unistd")
local file_lock = require("core.lib.file_lock")
local owner = require("core.shm.owner")
local process = require("core.lib.process")
local tree = require("core.shm.tree")

local folders = {}

local PATIENCE_S = 2
-- In a process's directory: sweep leaves it alone, its owner ran with SNABB_SHM_KEEP.
local KEEP_MARK = ".keep"

local function keeps()
  return process.getenv("SNABB_SHM_KEEP") ~= nil
end

local function is_kept(directory)
  return tree.exists(directory .. "/" .. KEEP_MARK)
end

--- The process id in the name of a process's directory, a number; nil if it isn't one.
function folders.pid_of(name)
  return tonumber(name:match("^(%d+)$") or name:match("^(%d+)%-%d+$"))
end

-- What the process claimed: {root =, pid =, name =, lock = a descriptor}
local own = {}

--- Has this process made its directory below `root`?
function folders.is_claimed(root)
  return own.root == root and own.pid == unistd.getpid()
end

local function is_free(directory)
  local me = owner.myself()
  return not tree.exists(directory) or owner.is_mine(directory)
    or owner.of(directory) == nil or owner.is_gone(directory, me.pid)
end

--- The name of this process's directory below `root`, whether there is one or not yet.
function folders.own_name(root)
  if folders.is_claimed(root) then return own.name end
  local me = owner.myself()
  local name = tostring(me.pid)
  return is_free(root .. "/" .. name) and name or name .. "-" .. me.namespace
end

--- What the name of a hidden file or directory ends with that this process
--- makes.
function folders.own_suffix()
  local me = owner.myself()
  return ("%d-%s"):format(me.pid, me.namespace)
end

-- Others see it marked and locked, or not at all.
local function make_own(root, name)
  local directory = root .. "/" .. name
  local hidden = ("%s/.%s.%s"):format(root, name, folders.own_suffix())
  local left = owner.of(directory) and not owner.is_mine(directory)
  if left and not is_kept(directory) then tree.remove(directory) end
  if tree.exists(directory) then return owner.mark(directory) end
  tree.remove(hidden)
  tree.make_directory(hidden)
  local lock = owner.mark(hidden)
  local ok, reason, code = stdio.rename(hidden, directory)
  if ok then return lock end
  unistd.close(lock)
  tree.remove(hidden)
  tree.refuse(code, "can't make the shared memory directory: %s", reason)
end

-- Let the next claim begin afresh.
local function let_go()
  if own.pid == unistd.getpid() and own.lock then unistd.close(own.lock) end
  own = {}
end

--- Make this process's directory below `root`, which is there, and take it. Its name.
function folders.claim(root)
  if folders.is_claimed(root) and tree.exists(root .. "/" .. own.name) then
    return own.name
  end
  let_go()
  local all = file_lock.take(root, PATIENCE_S)
  local name = folders.own_name(root)
  local ok, lock = pcall(make_own, root, name)
  if all then unistd.close(all) end
  if not ok then error(lock, 0) end
  own = {root = root, pid = unistd.getpid(), name = name, lock = lock}
  return name
end

--- Does the process run that has the number `pid` in that pid namespace, and has a
--- directory below `root`?
function folders.is_running(root, pid, namespace)
  for _, name in ipairs{tostring(pid), ("%d-%s"):format(pid, namespace)} do
    local mark = owner.of(root .. "/" .. name)
    if mark and mark.pid == pid and mark.namespace == namespace then
      return not owner.is_gone(root .. "/" .. name, pid)
    end
  end
  return false
end

--- Remove this process's directory, as it ends; or mark it if it is to be kept.
function folders.leave(root)
  local directory = root .. "/" .. folders.own_name(root)
  if not keeps() then
    tree.remove(directory)
  elseif tree.exists(directory) then
    local mark = io.open(directory .. "/" .. KEEP_MARK, "w")
    if mark then mark:close() end
  end
  let_go()
end

--- What `path`, a link to the directory of a process, leads to: the name of that
--- directory below its root, which may be mounted elsewhere for others; or nil.
function folders.led_to(path)
  return (unistd.readlink(path) or ""):match("([^/]+)/*$")
end

-- Names of programs are links to the directories of their processes.
local function sweep_names(root)
  local directory = root .. "/by-name"
  for _, name in ipairs(tree.names(directory)) do
    local target = folders.led_to(directory .. "/" .. name)
    if target and not tree.exists(root .. "/" .. target) then
      unistd.unlink(directory .. "/" .. name)
    end
  end
end

-- In directories that processes share: what one was about to give a name as it was
-- killed.
local function sweep_hidden(directory)
  local listed, names = pcall(dirent.dir, directory)
  for _, name in ipairs(listed and names or {}) do
    local pid, namespace = name:match("^%..+%.(%d+)%-(%d+)$")
    if namespace == owner.myself().namespace and owner.no_process(tonumber(pid)) then
      tree.remove(directory .. "/" .. name)
    end
  end
end

local function is_left(root, name)
  local directory, pid = root .. "/" .. name, folders.pid_of(name)
  return pid and not is_kept(directory) and owner.is_gone(directory, pid)
end

local function remove_left(root, names)
  local all, count = file_lock.take(root, PATIENCE_S), 0
  for _, name in ipairs(names) do -- somebody may have taken it meanwhile
    local removed = is_left(root, name) and tree.remove(root .. "/" .. name)
    if removed then count = count + 1 end
  end
  if all then unistd.close(all) end
  return count
end

--- Remove the directories of processes that have ended, but not those that are kept,
--- and the program names that led to them. Returns how many directories it removed.
function folders.sweep(root)
  if keeps() then return 0 end
  local left = {}
  for _, name in ipairs(tree.names(root)) do
    if is_left(root, name) then
      left[#left + 1] = name
    elseif not folders.pid_of(name) then
      sweep_hidden(root .. "/" .. name)
    end
  end
  local count = left[1] and remove_left(root, left) or 0
  sweep_hidden(root)
  sweep_names(root)
  return count
end

return folders
