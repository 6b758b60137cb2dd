-- SPDX-License-Identifier: Apache-2.0
-- Whose turn it is where a name is replicated: its process runs on the host that is
-- master. One that stands by (--standby) waits while this host isn't, whether or not a
-- replicator has the name's lock: one that is killed makes nobody master.

local file_lock = require("core.lib.file_lock")
local folder = require("lib.replica.folder")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local signal = require("posix.signal")
local standby = require("net.keep.standby")
local unistd = require("posix.unistd")

local turn = {}

--- Is the name known to be replicated, also before its replicator says so?
turn.replicated = false

-- The process that has locked the path, or nil.
local function holder(path)
  local fd = file_lock.open(path)
  local pid = fd and standby.holder(fd)
  if fd then unistd.close(fd) end
  return pid
end

--- For net.keep.standby: for whom a process with the name waits while this host isn't
--- master; nil if it is, or the name isn't replicated.
function turn.holds_back(name)
  local role = folder.role(name)
  if role == "master" or not (role or turn.replicated) then return nil end
  if not role then return "its replicator" end
  return role == "backup" and "the master on another host"
    or "another host: this one has the role 'fault'"
end

--- For net.keep.standby: is the process the name's replicator? It runs on when it has
--- let go of the name.
function turn.is_let_go(name, pid)
  return holder(folder.of(name)) == pid
end

--- End the process that runs with the name, if there is one: another host is master.
function turn.end_runner(name)
  local pid = holder(keep.folder(name))
  if not pid or pid <= 0 or turn.is_let_go(name, pid) then return end
  local ok, reason = signal.kill(pid, signal.SIGTERM)
  if ok then
    log.info("%s: process %d gets SIGTERM", name, pid)
  else
    log.warning("%s: process %d, which has the name, can't get SIGTERM: %s", name,
      pid, reason)
  end
end

return turn
