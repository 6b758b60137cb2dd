-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `graphite`: figures for Graphite, by its plaintext protocol over
-- TCP: a line "NAME VALUE TIME" each. A script doesn't stop for a server that has gone
-- or that doesn't keep up: what can't be sent is lost, which is reported once.

local clock = require("moongen.clock")
local fcntl = require("posix.fcntl")
local log = require("moongen.log")
local socket = require("posix.sys.socket")
local sockets = require("lib.sockets")
local unistd = require("posix.unistd")

local M = {}

local PORT, MOST_PORT = 2003, 65535
local RETRY_SECONDS, CONNECT_SECONDS = 10, 2

local Writer = {}
Writer.__index = Writer

-- Host and port of "host", "host:port" or "[address]:port".
local function parse(target)
  local host, port = target:match("^%[(.*)%]:?(%d*)$")
  if not host then host, port = target:match("^([^:]+):?(%d*)$") end
  port = tonumber(port) or PORT
  if not host or port > MOST_PORT then
    log:fatal("graphite: '%s' is no host[:port]", target)
  end
  return host, port
end

local function complain(self, text, ...)
  if not self.told then log:error(text, ...) end
  self.told = true
end

-- A connection to the address, or nil and why there is none.
local function open(address)
  local fd, why = socket.socket(address.family, socket.SOCK_STREAM, 0)
  if not fd then return nil, why end
  socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_SNDTIMEO, CONNECT_SECONDS, 0)
  fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  local ok
  ok, why = socket.connect(fd, address)
  if ok then return fd end
  unistd.close(fd)
  return nil, why
end

local function connect(self)
  self.tried = clock.seconds()
  local list, why = socket.getaddrinfo(self.host, tostring(self.port),
    {socktype = socket.SOCK_STREAM})
  for _, address in ipairs(list or {}) do
    self.fd, why = open(address)
    if self.fd then
      self.told = false
      return
    end
  end
  complain(self, "could not connect to %s: %s", self.target, why)
end

--- A writer to the server at `target`, "host[:port]" (port 2003), whose figures' names
--- begin with `prefix` and a dot, if it is given.
function M.newWriter(target, prefix)
  local host, port = parse(target)
  local self = setmetatable({target = target, host = host, port = port,
    prefix = prefix and prefix .. "." or "", rest = ""}, Writer)
  connect(self)
  return self
end

-- Send a line, behind what is left of one of which a part was sent.
local function send(self, line)
  local data = self.rest .. line
  local n = sockets.send_some(self.fd, data)
  if not n then
    complain(self, "%s has closed the connection", self.target)
    self:close()
  elseif n == 0 then
    complain(self, "%s doesn't keep up: figures are lost", self.target)
  else
    self.rest = data:sub(n + 1)
  end
end

--- Write the value of the figure `metric`, as of now.
function Writer:write(metric, value)
  if not self.fd and clock.seconds() - self.tried > RETRY_SECONDS then connect(self) end
  if not self.fd then return end
  send(self, ("%s%s %.18f %d\n"):format(self.prefix, metric, tonumber(value) or 0,
    clock.unix()))
end

function Writer:close()
  if self.fd then unistd.close(self.fd) end
  self.fd, self.rest = nil, ""
end

return M
