-- SPDX-License-Identifier: Apache-2.0
-- Servers that never wait: poll() takes new connections, reads what clients have sent,
-- lets their sessions work, and sends what these have to say. Nothing is done, and one
-- system call made, while nobody has anything to say.
--
-- A session has receive(bytes), or receive(nil) at the end; work(); `output`, a list of
-- strings to be sent, whose bytes are `outgoing`; `paused`, when work() has more to do
-- once some is sent; `full`, when it takes no more bytes for now; `done`: close when
-- all is sent. It may have ended(), which is called when the connection is no more.

local ffi = require("ffi")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local poll = require("posix.poll").poll
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local port_files = require("lib.port.files")

ffi.cdef [[
  ssize_t perigee_send(int fd, const void *data, size_t size, int flags)
    __asm__("send");
  ssize_t perigee_write(int fd, const void *data, size_t size) __asm__("write");
  unsigned perigee_umask(unsigned mask) __asm__("umask");
  struct perigee_pollfd { int fd; short events, revents; };
  int perigee_poll(struct perigee_pollfd *fds, unsigned long n, int ms) __asm__("poll");
  struct perigee_sockaddr_in { uint16_t family; uint8_t port[2], rest[12]; };
  int perigee_getsockname(int fd, struct perigee_sockaddr_in *address, uint32_t *size)
    __asm__("getsockname");
]]

local sockets = {}

local MSG_DONTWAIT, MSG_NOSIGNAL = 0x40, 0x4000 -- Linux, <sys/socket.h>
local POLLIN = 1                            -- <poll.h>
local LONGEST_PATH = 107                    -- <linux/un.h>, without the final zero
local BACKLOG = 16
local PATIENCE_SECONDS = 2 -- with a server that takes no connections
local MOST_CONNECTIONS = 64
local AT_ONCE = 65536     -- bytes read from a client at a time
local OTHERS = 127        -- the bits (octal 177) of a mode that only leave the owner's
local PORTS_TO_TRY = 11   -- from the one wanted

local Server = {}
Server.__index = Server

local function prepare(fd)
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  return fd
end

-- Listening -----------------------------------------------------------------------

local function failed(fd, call, problem)
  unistd.close(fd)
  return nil, ("%s: %s"):format(call, (problem or ""):gsub("^.*: ", ""))
end

local function open(family)
  local fd, problem = socket.socket(family, socket.SOCK_STREAM, 0)
  if not fd then return nil, "socket: " .. problem end
  return prepare(fd)
end

local function listen(fd)
  local ok, problem = socket.listen(fd, BACKLOG)
  if not ok then return failed(fd, "listen", problem) end
  return fd
end

--- The TCP port at which the socket listens. (luaposix 33.4 gives getsockname(2) no
--- size of the address, and finds one or none as it happens.)
function sockets.port(fd)
  local address = ffi.new("struct perigee_sockaddr_in")
  local size = ffi.new("uint32_t[1]", ffi.sizeof(address))
  local result = ffi.C.perigee_getsockname(fd, address, size)
  assert(result == 0 and address.family == socket.AF_INET, "not a TCP socket")
  return address.port[0] * 256 + address.port[1]
end

--- A socket that listens at the TCP port of this address ("127.0.0.1"), and the port;
--- or nil and a message. With `next_free`, one of the ten ports behind it will do. Port
--- 0 is any.
function sockets.listen_tcp(address, port, next_free)
  local fd, problem = open(socket.AF_INET)
  if not fd then return nil, problem end
  socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
  local ok
  for at = port, math.min(port + (next_free and PORTS_TO_TRY - 1 or 0), 65535) do
    ok, problem = socket.bind(fd, {family = socket.AF_INET, addr = address, port = at})
    if ok then break end
  end
  if not ok then return failed(fd, "bind", problem) end
  fd, problem = listen(fd)
  if not fd then return nil, problem end
  return fd, sockets.port(fd)
end

-- What call(fd, address) returns, with the address of the socket at `path`. One too
-- long for an address is reached by way of its directory, which is opened meanwhile.
local function at_path(call, fd, path)
  if #path <= LONGEST_PATH then
    return call(fd, {family = socket.AF_UNIX, path = path})
  end
  local folder, name = path:match("^(.*)/([^/]*)$")
  local directory, problem = fcntl.open(folder, fcntl.O_RDONLY + fcntl.O_CLOEXEC)
  if not directory then return nil, problem end
  local short = ("/proc/self/fd/%d/%s"):format(directory, name)
  local ok, reason, number = call(fd, {family = socket.AF_UNIX, path = short})
  unistd.close(directory)
  return ok, reason, number
end

--- A Unix socket that listens at `path`, for this user alone. One that a process left
--- behind as it ended is replaced. Nil and a message if that can't be.
function sockets.listen_unix(path)
  local fd, problem = open(socket.AF_UNIX)
  if not fd then return nil, problem end
  port_files.remove_dead_socket(path)
  local mask = ffi.C.perigee_umask(OTHERS)
  local ok
  ok, problem = at_path(socket.bind, fd, path)
  ffi.C.perigee_umask(mask)
  if not ok then return failed(fd, "bind", problem) end
  stat.chmod(path, tonumber("600", 8))
  return listen(fd)
end

--- A connection to the Unix socket at `path`, which waits when it is read; or nil, a
--- message and the error's number. A server that takes no connections, or nothing of
--- what is sent, is waited for two seconds: then the error is EAGAIN.
function sockets.connect_unix(path)
  local fd, problem = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)
  if not fd then return nil, "socket: " .. problem end
  socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_SNDTIMEO, PATIENCE_SECONDS, 0)
  fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  local ok, reason, number = at_path(socket.connect, fd, path)
  if ok then return fd end
  unistd.close(fd)
  return nil, reason, number
end

-- Connections ---------------------------------------------------------------------

--- A server on the listening socket `fd` (nil: none), whose connections get sessions
--- from make(). `log(message)`, if given, is told of connections.
function sockets.server(fd, make, log)
  return setmetatable({fd = fd, make = make, connections = {}, fds = {},
    log = log or function () end,
    listening = ffi.new("struct perigee_pollfd[1]", {{fd or -1, POLLIN, 0}})}, Server)
end

local function would_wait(number)
  return number == errno.EAGAIN or number == errno.EINTR
end

--- Serve the connection `fd`.
function Server:add(fd)
  local session = self.make()
  self.connections[fd] = session
  prepare(fd)
end

local function describe(address)
  return address.addr and (" from %s.%d"):format(address.addr, address.port) or ""
end

local function accept_all(self)
  while true do
    local fd, address, number = socket.accept(self.fd)
    if not fd then
      if not would_wait(number) then
        self.log("accept: " .. tostring(address))
      end
      return
    end
    self:add(fd)
    self.log(("opened connection %d%s"):format(fd, describe(address)))
  end
end

local function receive(fd, session)
  local data, _, number = unistd.read(fd, AT_ONCE)
  if data and data ~= "" then
    session:receive(data)
  elseif data or not would_wait(number) then
    session:receive(nil)
  end
end

-- One write of what is in `data` behind its first `sent` bytes: bytes taken; nil if the
-- client has gone.
local function send_some(fd, data, sent)
  sent = sent or 0
  local bytes, size = ffi.cast("const char *", data) + sent, #data - sent
  local n = ffi.C.perigee_send(fd, bytes, size, MSG_DONTWAIT + MSG_NOSIGNAL)
  if n < 0 and ffi.errno() == errno.ENOTSOCK then
    n = ffi.C.perigee_write(fd, bytes, size)
  end
  if n >= 0 then return tonumber(n) end
  return would_wait(ffi.errno()) and 0 or nil
end

--- Write all of `data` to `fd`, a socket, pipe or file, waiting for room. False if that
--- can't be.
function sockets.write_all(fd, data)
  local at, bytes = 0, ffi.cast("const char *", data)
  while at < #data do
    local n = tonumber(ffi.C.perigee_write(fd, bytes + at, #data - at))
    if n < 0 and not would_wait(ffi.errno()) then return false end
    if n < 0 then poll({[fd] = {events = {OUT = true}}}, -1) end
    at = at + math.max(n, 0)
  end
  return true
end

-- Join strings until the first is worth a system call. Of that, `sent` bytes have been
-- sent: those that are left, and how many bytes of their first have been.
local function joined(output, sent)
  local size, n = #output[1] - sent, 1
  while size < AT_ONCE and output[n + 1] do
    n = n + 1
    size = size + #output[n]
  end
  if n == 1 then return output, sent end
  output[1] = output[1]:sub(sent + 1)
  local left = {table.concat(output, "", 1, n)}
  for i = n + 1, #output do left[i - n + 1] = output[i] end
  return left, 0
end

-- Send what there is room for. False if the client has gone. Large strings aren't
-- copied.
local function send(fd, session)
  if session.outgoing == 0 then return true end
  local output, sent = session.output, session.sent or 0
  repeat
    output, sent = joined(output, sent)
    local n = send_some(fd, output[1], sent)
    if not n then return false end
    session.outgoing, sent = session.outgoing - n, sent + n
    local is_sent = sent == #output[1]
    if is_sent then
      table.remove(output, 1)
      sent = 0
    end
    session.output, session.sent = output, sent
  until not is_sent or session.outgoing == 0
  return true
end

local function close(self, fd)
  unistd.close(fd)
  local session = self.connections[fd]
  self.connections[fd] = nil
  if session.ended then session:ended() end
  self.log(("closed connection %d"):format(fd))
end

local function serve(self, fd, session, events)
  if events.IN or events.HUP or events.ERR then receive(fd, session) end
  local there
  repeat
    session:work()
    there = send(fd, session)
  until not (there and session.paused) or session.outgoing > 0
  if not there or session.done and session.outgoing == 0 then close(self, fd) end
end

-- What to ask poll() for.
local function wanted(self)
  local fds, n = {}, 0
  for fd, session in pairs(self.connections) do
    n = n + 1
    fds[fd] = {events = {IN = not (session.at_end or session.full),
                         OUT = session.outgoing > 0}}
  end
  if self.fd and n < MOST_CONNECTIONS then fds[self.fd] = {events = {IN = true}} end
  return fds
end

--- Go on with the connections of another server, and with what they had been sent.
function Server:take_over(connections)
  self.connections = connections
  for fd, session in pairs(connections) do serve(self, fd, session, {}) end
end

--- Do what there is to do. True if there was anything; that a client has gone whose
--- session isn't done is something once.
function Server:poll()
  if not next(self.connections) and ffi.C.perigee_poll(self.listening, 1, 0) <= 0 then
    return false -- without any garbage, as this is called again and again
  end
  local fds = wanted(self)
  local n = next(fds) and poll(fds, 0)
  if not n or n == 0 then return false end
  local anything = self.fd and fds[self.fd] and fds[self.fd].revents.IN or false
  if anything then accept_all(self) end
  for fd, session in pairs(self.connections) do
    local events = not fds[fd] and {} or fds[fd].revents
    if not fds[fd] or events.IN or events.OUT or events.HUP or events.ERR then
      anything = anything or events.IN or events.OUT or not session.at_end
      serve(self, fd, session, events)
    end
  end
  return anything
end

--- Is anybody connected?
function Server:busy() return next(self.connections) ~= nil end

--- Let the sessions work and send that have something of their own to say.
function Server:work()
  for fd, session in pairs(self.connections) do serve(self, fd, session, {}) end
end

--- Close everything, after a last try to send what is left.
function Server:close()
  for fd, session in pairs(self.connections) do
    send(fd, session)
    close(self, fd)
  end
  if self.fd then
    unistd.close(self.fd)
    self.fd = nil
  end
end

--- Send what a connection takes of `data`, behind its first `sent` bytes (0), without
--- waiting: how many bytes, which may be 0; nil if its other end has gone.
sockets.send_some = send_some

return sockets
