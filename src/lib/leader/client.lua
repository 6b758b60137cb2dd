-- SPDX-License-Identifier: Apache-2.0
-- Configuring a running function from outside, Perigee's or Snabb's: a connection to
-- its socket (lib.leader.calls), and calls over it.

local calls = require("lib.leader.calls")
local failure = require("core.failure")
local instances = require("lib.observe.instances")
local poll = require("posix.poll")
local posix_signal = require("posix.signal")
local sockets = require("lib.sockets")
local unistd = require("posix.unistd")

local client = {}

local AT_ONCE = 1048576 -- bytes

local Client = {}
Client.__index = Client

--- A connection to the instance (lib.observe.instances).
function client.of(instance)
  local path = instance.directory .. "/" .. calls.SOCKET
  local fd, problem = sockets.connect_unix(path)
  if not fd then
    failure.raise("%s (process %d) can't be configured: %s: %s",
      instance.name or instance.program, instance.pid, path,
      (problem:gsub("^.*: ", "")))
  end
  posix_signal.signal(posix_signal.SIGPIPE, posix_signal.SIG_IGN)
  return setmetatable({fd = fd, frames = calls.frames(), instance = instance,
    unsent = {}, sent = 0}, Client)
end

--- A connection to the instance that `text` names, by a name or a process id.
function client.connect(text)
  return client.of(instances.find(instances.list(), text))
end

-- It may have done what it was asked, and saved that, before it ended.
local function gone(self)
  failure.raise("process %d has closed the connection before it has answered: `perigee "
    .. "config get` shows whether a change is in effect", self.instance.pid)
end

--- Send a call, whose answer is to be received later.
function Client:send(name, fields)
  local frame = calls.frame(calls.write(name, fields))
  if not sockets.write_all(self.fd, frame) then gone(self) end
end

--- Have a call sent by flush(), whose answer is to be received later.
function Client:post(name, fields)
  table.insert(self.unsent, calls.frame(calls.write(name, fields)))
end

--- Send what post() has left, as far as there is room. True if that is all.
function Client:flush()
  while #self.unsent > 0 do
    if #self.unsent > 1 and self.sent == 0 then
      self.unsent = {table.concat(self.unsent)}
    end
    local n = sockets.send_some(self.fd, self.unsent[1], self.sent)
    if not n then gone(self) end
    self.sent = self.sent + n
    if self.sent < #self.unsent[1] then return false end
    table.remove(self.unsent, 1)
    self.sent = 0
  end
  return true
end

--- Read what has come; this waits if nothing has.
function Client:read()
  local data = unistd.read(self.fd, AT_ONCE)
  if not data or data == "" then gone(self) end
  self.frames:add(data)
end

--- The next answer that is there whole (of lib.leader.calls.read's list), or nil.
function Client:answer()
  local text = self.frames:next()
  return text and calls.read(text)[1]
end

--- Call `name`; its answer. Raises what the instance says is wrong.
function Client:call(name, fields)
  self:send(name, fields)
  local answer = self:answer()
  while not answer do
    self:read()
    answer = self:answer()
  end
  if answer.fields.error then failure.raise("%s", answer.fields.error) end
  return answer
end

--- The name of the schema that the instance is configured by, or nil if it doesn't say
--- so within `ms` milliseconds.
function Client:native_schema(ms)
  self:send("describe", {})
  local answer = self:answer()
  while not answer do
    if poll.rpoll(self.fd, ms) ~= 1 then return nil end
    self:read()
    answer = self:answer()
  end
  return answer.fields["native-schema"]
end

function Client:close() unistd.close(self.fd) end

return client
