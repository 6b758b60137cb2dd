-- SPDX-License-Identifier: Apache-2.0
-- Who had a name (net.keep.keep) and is ending: a process lets go of its name before
-- it, or the kernel, has closed its ports. What opens them next waits for its end, of
-- which a pidfd (pidfd_open(2)) gives notice.

local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local owner = require("core.shm.owner")
local patience = require("core.lib.patience")
local poll = require("posix.poll").poll
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local ending = {}

ffi.cdef "long syscall(long number, ...);"

local PIDFD_OPEN = 434 -- <asm/unistd.h>, the same everywhere
local LOOK_MS = 5
local MOST_BYTES = 256 -- of a note
local PATIENCE_S = 5 -- with the kernel, which closes what the other one had open

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

--- A function that returns once the process of the pidfd has ended, or after 5 s in
--- which it could have; pid may be nil: another pid namespace's.
function ending.awaiting(pidfd, pid)
  return function ()
    local limit = patience.new(PATIENCE_S, pid)
    repeat until ending.wait(pidfd, LOOK_MS) or limit:over()
    unistd.close(pidfd)
  end
end

--- This process has the name of which `path` (net.keep.standby.holder_path) notes who
--- has it. The note outlives the process, which may have sockets and memory long after
--- its own folder has gone.
function ending.note(path) tree.tell(path, owner.name_of(unistd.getpid())) end

--- Nobody has the name's lock: a function that waits for the process that the note
--- names, if that is still there; nil if it isn't.
function ending.of(path)
  local fd = fcntl.open(path, fcntl.O_RDONLY + fcntl.O_NONBLOCK) -- it may be a pipe
  local text = fd and unistd.read(fd, MOST_BYTES)
  if fd then unistd.close(fd) end
  local pid = owner.left(text and text:match("^[^\n]+"))
  if not pid or pid == unistd.getpid() then return nil end
  local pidfd = ending.pidfd(pid)
  return pidfd and ending.awaiting(pidfd, pid)
end

return ending
