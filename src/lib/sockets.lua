-- SPDX-License-Identifier: Apache-2.0
-- Servers that never wait: poll() takes new connections, reads what clients have sent,
-- lets their sessions work, and sends what these have to say. Nothing is done, and one
-- system call made, while nobody has anything to say.
--
-- A session has receive(bytes), or receive(nil) at the end; work(); `output`, a list of
-- strings to be sent, whose bytes are `outgoing`; `paused`, when work() has more to do
-- once some is sent; `full`, when it takes no more bytes for now; `done`: close when
-- all is sent. It may have ended(), which is called when the connection is no more, and
-- is_idle(): true as long as its client hasn't asked for anything. An idle one makes
-- room for a new connection.

local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local poll = require("posix.poll").poll
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local idle = require("lib.idle_connections")
local output = require("lib.socket_output")
local dead_socket = require("core.outside.dead_socket")
local read16 = require("net.wire.bytes").read16

ffi.cdef [[
  unsigned perigee_umask(unsigned mask) __asm__("umask");
  struct perigee_pollfd { int fd; short events, revents; };
  int perigee_poll(struct perigee_pollfd *fds, unsigned long n, int ms) __asm__("poll");
  struct perigee_sockaddr_in { uint16_t family; uint8_t port[2], rest[12]; };
  int perigee_getsockname(int fd, struct perigee_sockaddr_in *address, uint32_t *size)
    __asm__("getsockname");
]]

local sockets = {}
local would_wait, send = output.would_wait, output.send

local POLLIN = 1                            -- <poll.h>
local LONGEST_PATH = 107                    -- <linux/un.h>, without the final zero
local BACKLOG = 128
local PATIENCE_SECONDS = 2 -- with a server that takes no connections
local AT_ONCE = 65536     -- bytes read from a client at a time
local OTHERS = 127        -- the bits (octal 177) of a mode that only leave the owner's
local UNIX = "unix"       -- what connections have for an address that have none
local PORTS_TO_TRY = 11   -- from the one wanted

local Server = {}
Server.__index = Server

local function prepare(fd)
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  return fd
end

-- Listening -----------------------------------------------------------------------

local function failed(fd, call, problem, number)
  unistd.close(fd)
  return nil, ("%s: %s"):format(call, ((problem or ""):gsub("^.*: ", ""))), number
end

local function open(family)
  local fd, problem = socket.socket(family, socket.SOCK_STREAM, 0)
  if not fd then return nil, "socket: " .. problem end
  return prepare(fd)
end

local function listen(fd)
  local ok, problem, number = socket.listen(fd, BACKLOG)
  if not ok then return failed(fd, "listen", problem, number) end
  return fd
end

--- The TCP port at which the socket listens. (luaposix 33.4 gives getsockname(2) no
--- size of the address, and finds one or none as it happens.)
function sockets.port(fd)
  local address = ffi.new("struct perigee_sockaddr_in")
  local size = ffi.new("uint32_t[1]", ffi.sizeof(address))
  local result = ffi.C.perigee_getsockname(fd, address, size)
  assert(result == 0 and address.family == socket.AF_INET, "not a TCP socket")
  return read16(address.port)
end

--- A socket that listens at the TCP port of this address ("127.0.0.1"), and the port;
--- or nil, a message and the error's number. With `next_free`, one of the ten ports
--- behind it will do. Port 0 is any.
function sockets.listen_tcp(address, port, next_free)
  local fd, problem = open(socket.AF_INET)
  if not fd then return nil, problem end
  socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
  local ok, number
  for at = port, math.min(port + (next_free and PORTS_TO_TRY - 1 or 0), 65535) do
    ok, problem, number = socket.bind(fd,
      {family = socket.AF_INET, addr = address, port = at})
    if ok then break end
  end
  if not ok then return failed(fd, "bind", problem, number) end
  fd, problem, number = listen(fd)
  if not fd then return nil, problem, number end
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
--- behind as it ended is replaced. Nil, a message and the error's number if that can't
--- be.
function sockets.listen_unix(path)
  local fd, problem = open(socket.AF_UNIX)
  if not fd then return nil, problem end
  dead_socket.remove(path)
  local mask = ffi.C.perigee_umask(OTHERS)
  local ok, number
  ok, problem, number = at_path(socket.bind, fd, path)
  ffi.C.perigee_umask(mask)
  if not ok then return failed(fd, "bind", problem, number) end
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
--- from make(address), which posix.sys.socket has made (nil: there is none).
--- `log(message)`, if given, is told of connections. `admit(address)`, if given, says
--- whether a connection from there is served; then `address` has its `fd`, too.
function sockets.server(fd, make, log, admit)
  return setmetatable({fd = fd, make = make, connections = {}, fds = {},
    came = {}, addresses = {}, number = 0,
    log = log or function () end, admit = admit or function () return true end,
    listening = ffi.new("struct perigee_pollfd[1]", {{fd or -1, POLLIN, 0}})}, Server)
end

--- Serve the connection `fd`, from the address (optional).
function Server:add(fd, address)
  local session = self.make(address)
  self.number = self.number + 1
  self.connections[fd], self.came[fd] = session, self.number
  self.addresses[fd] = address and address.addr or UNIX
  prepare(fd)
end

local function close(self, fd)
  unistd.close(fd)
  local session = self.connections[fd]
  self.connections[fd], self.came[fd], self.addresses[fd] = nil, nil, nil
  if session.ended then session:ended() end
  self.log(("closed connection %d"):format(fd))
end

-- Close an idle connection, if need be, for one more from the address.
local function make_room(self, address)
  local fd = idle.in_the_way(self, address)
  if fd then close(self, fd) end
end

local function describe(address)
  return address.addr and (" from %s.%d"):format(address.addr, address.port) or ""
end

local function receive(fd, session)
  local data, _, number = unistd.read(fd, AT_ONCE)
  if data and data ~= "" then
    session:receive(data)
  elseif data or not would_wait(number) then
    session:receive(nil)
  end
end

local function accept_all(self)
  for _ = 1, BACKLOG do -- more come with the next poll()
    if not idle.has_room(self) then return end
    local fd, address, number = socket.accept(self.fd)
    if not fd then
      if not would_wait(number) then
        self.log("accept: " .. tostring(address))
      end
      return
    end
    address.fd = fd
    if self.admit(address) then
      make_room(self, address.addr or UNIX)
      self:add(fd, address)
      self.log(("opened connection %d%s"):format(fd, describe(address)))
      receive(fd, self.connections[fd]) -- who asks at once isn't idle
    else
      unistd.close(fd)
      self.log(("refused a connection%s"):format(describe(address)))
    end
  end
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
  local fds = {}
  for fd, session in pairs(self.connections) do
    fds[fd] = {events = {IN = not (session.at_end or session.full),
                         OUT = session.outgoing > 0}}
  end
  if self.fd and idle.has_room(self) then
    fds[self.fd] = {events = {IN = true}}
  end
  return fds
end

--- Wait until a client has something to say, or takes more; so many seconds at most.
function Server:wait(seconds)
  local fds = wanted(self)
  if next(fds) then poll(fds, math.ceil(seconds * 1000)) end
end

--- Go on with the connections of another server, and with what they had been sent.
function Server:take_over(connections)
  self.connections = connections
  for fd, session in pairs(connections) do
    self.number = self.number + 1
    self.came[fd], self.addresses[fd] = self.number, UNIX
    serve(self, fd, session, {})
  end
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

--- The descriptors that are readable when poll() has something to do, an array; and
--- whether they tell of all there is (else poll() is to be called now and then, too).
function Server:descriptors()
  local fds, all = {}, true
  if self.fd and idle.has_room(self) then fds[1] = self.fd end
  for fd, session in pairs(self.connections) do
    if session.at_end or session.full or session.outgoing > 0 then
      all = false
    else
      fds[#fds + 1] = fd
    end
  end
  return fds, all
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
sockets.send_some = output.send_some

return sockets
