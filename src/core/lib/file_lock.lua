-- SPDX-License-Identifier: Apache-2.0
-- Locks on files and folders (flock(2)): the kernel lets go of them when their process
-- ends, however it ends, and processes in other namespaces see them, too.

local ffi = require("ffi")
local C = require("core.native")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")

local file_lock = {}

ffi.cdef "int flock(int fd, int operation);"

local SHARED, EXCLUSIVE, AT_ONCE, RELEASE = 1, 2, 4, 8 -- <sys/file.h>
local PAUSE_S = 0.005

--- A descriptor of the file or folder `path`, to be locked; nil if it can't be opened.
function file_lock.open(path)
  return fcntl.open(path, fcntl.O_RDONLY + fcntl.O_CLOEXEC)
end

--- Lock what `fd` is open on, until `fd` is closed; false if another process has it.
function file_lock.try(fd)
  return ffi.C.flock(fd, EXCLUSIVE + AT_ONCE) == 0
end

--- Lock what `fd` is open on, and wait as long as it takes: for locks that are held for
--- one write.
function file_lock.wait(fd)
  while ffi.C.flock(fd, EXCLUSIVE) ~= 0 do end -- but for signals it succeeds
end

--- Let go of the lock, also where processes that were forked have `fd`, too; it is
--- closed here.
function file_lock.release(fd)
  ffi.C.flock(fd, RELEASE)
  unistd.close(fd)
end

--- Has any process locked `path`? True if that can't be known.
function file_lock.is_held(path)
  local fd = file_lock.open(path)
  if not fd then return true end
  local free = ffi.C.flock(fd, SHARED + AT_ONCE) == 0
  unistd.close(fd)
  return not free
end

--- Lock `path`, waiting so many seconds at most: a process that stands still isn't
--- waited for for ever. A descriptor to be closed, or nil if it can't be opened.
function file_lock.take(path, seconds)
  local fd = file_lock.open(path)
  local ends = C.pg_monotonic() + seconds
  while fd and not file_lock.try(fd) and C.pg_monotonic() < ends do
    C.pg_sleep(PAUSE_S)
  end
  return fd
end

return file_lock
