-- SPDX-License-Identifier: Apache-2.0
-- Unix sockets that a process left behind as it ended: they are in nobody's way.

local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local dead_socket = {}

local SOCK_SEQPACKET = 5 -- <bits/socket_type.h>

--- Does nobody listen at the Unix socket `path`, of whichever type? False where that
--- isn't known. (A process that accepts no connection, and has as many waiting as there
--- may be, isn't waited for.)
function dead_socket.is(path)
  for _, kind in ipairs{socket.SOCK_STREAM, SOCK_SEQPACKET} do
    local fd = socket.socket(socket.AF_UNIX, kind, 0)
    if not fd then return false end
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
    local _, _, number = socket.connect(fd, {family = socket.AF_UNIX, path = path})
    unistd.close(fd)
    if number == errno.ECONNREFUSED then return true end
    if number ~= errno.EPROTOTYPE then return false end
  end
  return false
end

--- Remove the socket if nobody listens there; was it removed?
function dead_socket.remove(path)
  local found = stat.lstat(path)
  return found ~= nil and stat.S_ISSOCK(found.st_mode) ~= 0 and dead_socket.is(path)
    and unistd.unlink(path) == 0
end

return dead_socket
