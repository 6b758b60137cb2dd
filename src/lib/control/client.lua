-- SPDX-License-Identifier: Apache-2.0
-- The other end of a control socket: asks a running instance (lib.observe.instances).

local ffi = require("ffi")
local C = require("core.native")
local cjson = require("cjson")
local errno = require("posix.errno")
local failure = require("core.failure")
local patience = require("core.lib.patience")
local poll = require("posix.poll")
local session = require("lib.control.session")
local sockets = require("lib.sockets")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local client = {}

local SOCKET = "control.socket"
local PATIENCE_SECONDS, LOOK_SECONDS = 10, 0.05
local AT_ONCE = 65536
local MSG_NOSIGNAL = 0x4000 -- Linux, <sys/socket.h>

local Connection = {}
Connection.__index = Connection

--- The path of the instance's control socket; nil if it has none.
function client.path(instance)
  local path = instance.directory .. "/" .. SOCKET
  return stat.lstat(path) and path or nil
end

local function refuse(instance, number, reason)
  if number == errno.EACCES or number == errno.EPERM then
    failure.raise("process %d is another user's: only that user and root can look into "
      .. "it", instance.pid)
  elseif number == errno.ENOENT and stat.lstat(instance.directory .. "/tasks") then
    failure.raise("process %d runs a libmoon script: its tasks handle packets "
      .. "themselves, so it has no graph to look into. `perigee top %d` shows its "
      .. "tasks, devices and queues", instance.pid, instance.pid)
  elseif number == errno.ENOENT then
    failure.raise("process %d has no control socket: it was started with --no-control, "
      .. "its engine doesn't run yet, or it isn't Perigee's", instance.pid)
  elseif number == errno.EAGAIN then
    failure.raise("process %d takes no connections: its engine doesn't run now",
      instance.pid)
  end
  failure.raise("can't connect to process %d: %s", instance.pid, reason)
end

--- Connect to the instance. Raises a failure that says why that can't be.
function client.connect(instance)
  local path = instance.directory .. "/" .. SOCKET
  local fd, reason, number = sockets.connect_unix(path)
  if not fd then refuse(instance, number, reason) end
  return setmetatable({fd = fd, pid = instance.pid, buffer = ""}, Connection)
end

--- Send a request, without waiting for the answer; false if the instance has gone.
--- Raises a failure if it is longer than instances take.
function Connection:send(request)
  local text = cjson.encode(request) .. "\n"
  if #text > session.LONGEST_LINE then
    failure.usage("a request has up to %d bytes, not %d: give a shorter filter",
      session.LONGEST_LINE, #text)
  end
  return ffi.C.perigee_send(self.fd, text, #text, MSG_NOSIGNAL) == #text
end

--- Bytes that have come, waiting up to so many seconds for some; "" if none has, nil at
--- the end.
function Connection:bytes(seconds)
  local ready = poll.rpoll(self.fd, math.ceil(seconds * 1000))
  if ready ~= 1 then return "" end
  local bytes, _, number = unistd.read(self.fd, AT_ONCE)
  if not bytes then return number == errno.EINTR and "" or nil end
  return bytes ~= "" and bytes or nil
end

--- The next line as a table; false if none has come within so many seconds, or a signal
--- has come; nil at the end. `anyway`: whatever signals come, and without the time that
--- the instance waits for a CPU.
function Connection:line(seconds, anyway)
  local limit = patience.new(seconds, anyway and self.pid or nil)
  while true do
    local line, rest = self.buffer:match("^([^\n]*)\n(.*)$")
    if line then
      self.buffer = rest
      return cjson.decode(line)
    end
    local bytes = self:bytes(math.min(math.max(0, limit.left), LOOK_SECONDS))
    if not bytes then return nil end
    local signalled = C.pg_signal() ~= 0 and not anyway
    if bytes == "" and (limit:over() or signalled) then return false end
    self.buffer = self.buffer .. bytes
  end
end

--- The answer in a line that was waited for so many seconds (false: it didn't come;
--- nil: the end came). Raises what the line says is wrong.
function Connection:answer(line, seconds)
  if line == false then
    failure.raise("process %d hasn't answered for %d s: its engine doesn't run now",
      self.pid, seconds)
  elseif not line then
    failure.raise("process %d has ended", self.pid)
  elseif line.error then
    failure.usage("%s", line.error)
  end
  return line.answer
end

--- What the instance answers to the request. Raises what it says is wrong.
function Connection:ask(request)
  return self:answer(self:send(request) and self:line(PATIENCE_SECONDS, true),
    PATIENCE_SECONDS)
end

--- Bytes that came behind the last line; they are taken.
function Connection:rest()
  local rest = self.buffer
  self.buffer = ""
  return rest
end

--- Close it: the instance detaches what was attached.
function Connection:close()
  if self.fd then unistd.close(self.fd) end
  self.fd = nil
end

return client
