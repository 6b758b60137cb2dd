-- SPDX-License-Identifier: Apache-2.0
-- What processes on this host know of a replicated name: which role the host has for
-- it, and what its replicator does, in the folder replicate/NAME in shared memory.

local C = require("core.native")
local cjson = require("cjson")
local failure = require("core.failure")
local file_lock = require("core.lib.file_lock")
local shm = require("core.shm")
local stat = require("posix.sys.stat")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local folder = {}

--- The roles that a host may have for a name: it handles its packets, it holds its
--- records ready, or it can't do either.
folder.ROLES = {master = true, backup = true, fault = true}

local OTHERS, PAUSE_S = 64, 0.05
local LONGEST = 4096 -- what a file has

--- Where the name's files are.
function folder.of(name)
  return shm.root .. "/replicate" .. (name and "/" .. name or "")
end

local function make(path)
  tree.make_in_place(path)
  local found, reason = stat.lstat(path)
  if not found or found.st_uid ~= unistd.geteuid() or found.st_mode % OTHERS ~= 0
    or stat.S_ISDIR(found.st_mode) == 0 then
    failure.raise("the folder %s can't be used: %s; remove it", path,
      reason or "it isn't this user's alone")
  end
end

--- Make it.
function folder.make(name)
  tree.make_root(shm.root)
  make(folder.of())
  make(folder.of(name))
end

-- Why the text can't take the place of the file's; nil: it has.
local function write(name, file, text)
  local path = ("%s/%s"):format(folder.of(name), file)
  local out, problem = io.open(path .. ".new", "w")
  if not out then return problem end
  tree.protect(path .. ".new")
  local owner = stat.stat(folder.of(name)).st_uid
  if owner ~= unistd.geteuid() then unistd.chown(path .. ".new", owner, -1) end -- root
  local done, reason = out:write(text, "\n")
  local closed, why = out:close()
  if done and closed then done, reason = os.rename(path .. ".new", path) end
  if done and closed then return nil end
  os.remove(path .. ".new")
  return ("%s: %s"):format(path, reason or why)
end

-- The same where there is no room for another file: the file's page is there. Whoever
-- reads it has its first line, which is written by one call.
local function write_in_place(name, file, text)
  local out = io.open(("%s/%s"):format(folder.of(name), file), "r+")
  if not out then return false end
  local done = out:write(text) and out:close()
  return done
end

--- The first line of the file in the folder at `path`; nil: it can't be read.
function folder.line(path, file)
  local inp = io.open(("%s/%s"):format(path, file))
  local text = inp and inp:read(LONGEST)
  if inp then inp:close() end
  return text and text:match("^[^\n]*")
end

--- The role that has been told last; nil if none was. One that can't be read is
--- "fault".
function folder.role(name)
  local path = folder.of(name)
  local text = folder.line(path, "role")
  if folder.ROLES[text or ""] then return text end
  return (text or tree.exists(path .. "/role")) and "fault" or nil
end

--- The host has that role from now on, also where shared memory is full. Raises a
--- failure if that can't be written.
function folder.set_role(name, role)
  local problem = write(name, "role", role)
  if problem and not write_in_place(name, "role", role .. "\n") then
    failure.raise("can't write %s", problem)
  end
end

--- What the replicator says of itself: a table of plain values; nil if it isn't there.
function folder.status(name) return folder.status_in(folder.of(name)) end

--- As status(), of the folder at that path.
function folder.status_in(path)
  if not (tree.exists(path) and file_lock.is_held(path)) then return nil end
  local ok, status = pcall(cjson.decode, folder.line(path, "status") or "")
  return ok and type(status) == "table" and status or {}
end

--- The replicator does that. Why that can't be told, or nil.
function folder.tell(name, status)
  return write(name, "status", cjson.encode(status))
end

--- The path of the socket at which the replicator is told its role.
function folder.socket(name) return folder.of(name) .. "/socket" end

--- Does a replicator run for the name?
function folder.is_used(name)
  return tree.exists(folder.of(name)) and file_lock.is_held(folder.of(name))
end

--- Be the name's replicator until the process ends. If there is one, a failure, or,
--- with `patient`, wait for its end; false if patient() is false meanwhile.
function folder.claim(name, patient)
  local fd = file_lock.open(folder.of(name))
  while not fd or not file_lock.try(fd) do
    if not (fd and patient) then
      failure.raise("another process replicates '%s' on this host", name)
    end
    if not patient() then return false end
    C.pg_sleep(PAUSE_S)
  end
  return true
end

return folder
