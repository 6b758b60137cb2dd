-- SPDX-License-Identifier: Apache-2.0
-- Who had a name (net.keep.keep) and is ending: a process lets go of its name before
-- it, or the kernel, has closed its ports. What opens them next waits for its end, of
-- which a pidfd (pidfd_open(2)) gives notice.

local ffi = require("ffi")
local owner = require("core.shm.owner")
local patience = require("core.lib.patience")
local poll = require("posix.poll").poll
local shm = require("core.shm")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local ending = {}

ffi.cdef "long syscall(long number, ...);"

local PIDFD_OPEN = 434 -- <asm/unistd.h>, the same everywhere
local LOOK_MS = 5
local PATIENCE_S = 5 -- with the kernel, which closes what the other one had open
local NOTE = "has-name" -- in a process's folder

--- A descriptor that can be read once the process has ended; nil if there is none.
function ending.pidfd(pid)
  local fd = pid and pid > 0
    and tonumber(ffi.C.syscall(PIDFD_OPEN, ffi.cast("int", pid), ffi.cast("int", 0)))
  return fd and fd >= 0 and fd or nil
end

--- Wait until the process with the pidfd ends, or so long; true if it has ended.
function ending.wait(pidfd, ms)
  local fds = pidfd and {[pidfd] = {events = {IN = true}}} or {}
  poll(fds, ms)
  return pidfd and fds[pidfd].revents and fds[pidfd].revents.IN
end

--- A function that returns once the processes of these pidfds, by process id, have
--- ended, or after 5 s in which they could have.
function ending.awaiting(pidfds)
  return function ()
    for pid, pidfd in pairs(pidfds) do
      local limit = patience.new(PATIENCE_S, pid > 0 and pid or nil)
      repeat until ending.wait(pidfd, LOOK_MS) or limit:over()
      unistd.close(pidfd)
    end
  end
end

--- This process has the name, as long as its folder is there.
function ending.note(name)
  shm.mkdir((shm.resolve(""):gsub("/$", "")))
  tree.tell(shm.path(NOTE), name)
end

local function had(folder, name)
  local file = io.open(folder .. "/" .. NOTE)
  local text = file and file:read("*l")
  if file then file:close() end
  return text == name
end

--- Nobody has the name's lock: a function that waits for those that had the name, and
--- are still there; nil if there are none.
function ending.of(name)
  local pidfds, own = {}, unistd.getpid()
  for _, entry in ipairs(tree.names(shm.root)) do
    local folder = shm.root .. "/" .. entry
    local pid = had(folder, name) and owner.left(folder)
    if pid and pid ~= own then pidfds[pid] = ending.pidfd(pid) end
  end
  return next(pidfds) and ending.awaiting(pidfds) or nil
end

return ending
