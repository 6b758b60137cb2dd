-- SPDX-License-Identifier: Apache-2.0
-- `perigee config listen`: requests in JSON from standard input, or from one client of
-- a socket, to a running function, and its answers back, in order. A request needn't
-- wait for the answer to the one before. Nobody else can change the function meanwhile.

local cjson = require("cjson")
local failure = require("core.failure")
local poll = require("posix.poll").poll
local socket = require("posix.sys.socket")
local sockets = require("lib.sockets")
local unistd = require("posix.unistd")

local listen = {}

local AT_ONCE = 65536 -- bytes
local STDIN, STDOUT = 0, 1
local MOST_SHOWN = 40 -- letters of what is wrong

-- What a request is called here, there, and the field of the answer that has its value.
local VERBS = {
  ["get"] = {"get-config", "config"}, ["get-state"] = {"get-state", "state"},
  ["set"] = {"set-config"}, ["add"] = {"add-config"}, ["remove"] = {"remove-config"},
}

-- Where the JSON object that begins at `at` ends, or nil: a brace within a string isn't
-- one.
local function end_of_object(text, at)
  local depth = 0
  while true do
    local found = text:find('[{}"]', at)
    if not found then return nil end
    local sign = text:sub(found, found)
    if sign == '"' then
      repeat
        found = text:find('["\\]', found + 1)
        if not found then return nil end
        local escape = text:sub(found, found) == "\\"
        if escape then found = found + 1 end
      until not escape
    else
      depth = depth + (sign == "{" and 1 or -1)
      if depth <= 0 then return found end
    end
    at = found + 1
  end
end

local function shown(text)
  return (text:sub(1, MOST_SHOWN):gsub("[^\32-\126]", "?"))
end

--- The first JSON object in `text` (nil if there is no whole one), and the rest.
function listen.next_object(text)
  local first = text:find("%S")
  if not first then return nil, "" end
  if text:sub(first, first) ~= "{" then
    failure.usage("a request is an object in JSON, not: %s", shown(text:sub(first)))
  end
  local last = end_of_object(text, first)
  if not last then return nil, text end
  return text:sub(first, last), text:sub(last + 1)
end

local Listener = {}
Listener.__index = Listener

function Listener:answer(waiting, fields)
  local value = not fields.error and waiting.field and fields[waiting.field] or nil
  local line = cjson.encode{id = waiting.id, value = value,
    status = fields.error and "error" or "ok", error = fields.error}
  if not sockets.write_all(self.output, line .. "\n") then
    failure.raise("the answer can't be written")
  end
end

-- Pass the request on.
function Listener:request(text)
  local ok, request = pcall(cjson.decode, text)
  local verb = ok and VERBS[request.verb]
  if not verb or type(request.path or "/") ~= "string"
    or type(request.value or "") ~= "string" then
    failure.usage("a request has an id, a verb (get, get-state, set, add, remove), a "
      .. "path, and a value where there is one to set or add, all text; not: %s", text)
  end
  table.insert(self.waiting, {id = request.id, field = verb[2] or false})
  self.connection:post(verb[1], {schema = request.schema or self.schema,
    path = request.path or "/", config = request.value})
end

function Listener:requests()
  local data = unistd.read(self.input, AT_ONCE)
  if not data or data == "" then
    self.at_end = true
    return
  end
  local object
  self.text = self.text .. data
  repeat
    object, self.text = listen.next_object(self.text)
    if object then self:request(object) end
  until not object
end

function Listener:answers()
  local answer = self.connection:answer()
  while answer do
    self:answer(table.remove(self.waiting, 1), answer.fields)
    answer = self.connection:answer()
  end
end

-- Answers are taken, too, while requests wait for room: the function takes no more of
-- those before its answers are gone.
function Listener:run()
  local leader = self.connection.fd
  repeat
    local all_sent = self.connection:flush()
    local fds = {[leader] = {events = {IN = true, OUT = not all_sent}}}
    if all_sent and not self.at_end then fds[self.input] = {events = {IN = true}} end
    poll(fds, -1)
    local events = fds[self.input] and fds[self.input].revents
    if events and (events.IN or events.HUP) then self:requests() end
    if fds[leader].revents.IN or fds[leader].revents.HUP then
      self.connection:read()
      self:answers()
    end
  until self.at_end and #self.waiting == 0
  if self.text ~= "" then
    failure.usage("the last request doesn't end: %s", shown(self.text))
  end
end

-- The connection of the one client at the Unix socket `path`.
local function accept(path)
  local fd, problem = sockets.listen_unix(path)
  if not fd then failure.raise("--socket %s: %s", path, problem) end
  print("Listening for clients on socket: " .. path)
  io.stdout:flush()
  poll({[fd] = {events = {IN = true}}}, -1)
  local client = socket.accept(fd)
  unistd.close(fd)
  unistd.unlink(path)
  return client
end

--- Run the command over the connection (lib.leader.client).
function listen.run(connection, options)
  local schema = options.schema
    or connection:call("describe", {}).fields["native-schema"]
  connection:call("attach-listener", {schema = schema})
  local input, output = STDIN, STDOUT
  if options.socket then
    input = accept(options.socket)
    output = input
  end
  setmetatable({connection = connection, schema = schema, input = input,
    output = output, text = "", waiting = {}}, Listener):run()
end

return listen
