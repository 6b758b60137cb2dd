-- SPDX-License-Identifier: Apache-2.0
-- A small HTTP/1.1 server (RFC 9112): one request a connection, one at a time. What a
-- peer doesn't send within two seconds isn't waited for.

local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local poll = require("posix.poll")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")
local clock = require("core.lib.clock")

local M = {}

local PATIENCE_S = 2
local MOST_HEAD, MOST_BODY = 16384, 1048576 -- bytes
local CHUNK = 4096
local WAITING_PEERS = 16

local REASONS = {[200] = "OK", [400] = "Bad Request", [404] = "Not Found",
  [405] = "Method Not Allowed", [413] = "Content Too Large",
  [500] = "Internal Server Error"}

--- Listen on an IPv4 address and port (0: any that is free). Returns the server, or nil
--- and what is wrong.
function M.listen(address, port)
  local fd, problem = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
  if not fd then return nil, problem end
  socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
  local ok
  ok, problem = socket.bind(fd, {family = socket.AF_INET, addr = address, port = port})
  if ok then ok, problem = socket.listen(fd, WAITING_PEERS) end
  if not ok then
    unistd.close(fd)
    return nil, problem
  end
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  return {fd = fd, port = socket.getsockname(fd).port}
end

-- The peer's next bytes, by `deadline`; nil if there are none.
local function receive(fd, deadline)
  local left = deadline - clock.seconds()
  if left <= 0 or poll.rpoll(fd, math.ceil(left * 1000)) ~= 1 then return nil end
  local data = socket.recv(fd, CHUNK)
  return data ~= "" and data or nil
end

local function read_more(fd, text, deadline, complete, most)
  while not complete(text) do
    local data = #text <= most and receive(fd, deadline)
    if not data then return nil end
    text = text .. data
  end
  return text
end

-- The request, or nil and a status (or nothing, if the peer went away).
local function read_request(fd)
  local deadline = clock.seconds() + PATIENCE_S
  local text = read_more(fd, "", deadline, function (t)
    return t:find("\r\n\r\n", 1, true)
  end, MOST_HEAD)
  if not text then return nil end
  local head, body = text:match("^(.-\r\n)\r\n(.*)$")
  local method, path = head:match("^(%u+) (%S+) HTTP/1%.[01]\r\n")
  if not method then return nil, 400 end
  local headers = {}
  for name, value in head:gmatch("\r\n([%w%-]+):[ \t]*([^\r\n]*)") do
    headers[name:lower()] = value
  end
  local length = tonumber(headers["content-length"] or 0)
  if not length or length < 0 then return nil, 400 end
  if length > MOST_BODY then return nil, 413 end
  body = read_more(fd, body, deadline, function (t) return #t >= length end, MOST_BODY)
  if not body then return nil end
  return {method = method, path = path:match("^[^?]*"), query = path:match("%?(.*)$"),
    headers = headers, body = body:sub(1, length)}
end

local function send_all(fd, text)
  local deadline = clock.seconds() + PATIENCE_S
  while #text > 0 and clock.seconds() < deadline do
    local sent, _, code = socket.send(fd, text)
    if sent then
      text = text:sub(sent + 1)
    elseif code ~= errno.EAGAIN and code ~= errno.EINTR then
      return
    end
  end
end

local function answer(fd, status, body, kind)
  send_all(fd, ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n" ..
    "Connection: close\r\n\r\n%s"):format(status, REASONS[status] or "Status",
    kind or "application/json; charset=UTF-8", #body, body))
end

--- Wait so many seconds for a peer, and answer its request: `handle(request)` gets
--- `method`, `path`, `query`, `headers` (in lower case), `body`, and returns a status,
--- a body and its type (default JSON). Returns whether one came.
function M.serve(server, seconds, handle)
  if poll.rpoll(server.fd, math.ceil(seconds * 1000)) ~= 1 then return false end
  local fd = socket.accept(server.fd)
  if not fd then return false end
  local request, status = read_request(fd)
  if request then
    answer(fd, handle(request))
  elseif status then
    answer(fd, status, "")
  end
  unistd.close(fd)
  return true
end

--- Stop listening.
function M.close(server) unistd.close(server.fd) end

return M
