-- SPDX-License-Identifier: Apache-2.0
-- One client of the control socket (lib.sockets has what a session is): its requests
-- come as lines of JSON, each is answered by one (doc/control.md). A request may start
-- a job, such as a trace, that goes on to send lines, or bytes, until it ends or the
-- client goes.

local cjson = require("cjson")
local spelling = require("core.lib.spelling")
local tables = require("core.lib.tables")

local session = {}

--- The longest request, in bytes with its newline.
session.LONGEST_LINE = 65536
local LONGEST_LINE = session.LONGEST_LINE
local LINES_AT_ONCE = 16 -- answered between two breaths
local MUCH_OUTPUT = 1024 * 1024 -- of which a client takes some before it is answered

local Session = {}
Session.__index = Session

--- A session that knows the `commands`, by name {arguments = the set of keys that its
--- requests may have, run = run(session, request)}; run returns what to answer, and the
--- job that it starts, if any: {tend(now), stop()}. It raises what is wrong. Where the
--- answer isn't known yet it returns a function, which is asked until it isn't nil; the
--- client's next request waits for that.
function session.new(commands)
  return setmetatable({commands = commands, input = "", output = {}, outgoing = 0,
    jobs = {}}, Session)
end

--- Send the bytes.
function Session:send(bytes)
  self.output[#self.output + 1] = bytes
  self.outgoing = self.outgoing + #bytes
end

--- Send a line with the fields of `message`; `id` is the request's.
function Session:say(id, message)
  message.id = id
  self:send(cjson.encode(message) .. "\n")
end

-- Requests ------------------------------------------------------------------------

local function unknown(what, name, known)
  local names = tables.sorted_keys(known)
  error(("%s '%s' isn't known%s; there %s %s"):format(what, tostring(name):sub(1, 40),
    spelling.hint(tostring(name):sub(1, 40), names), #names == 1 and "is" or "are",
    #names == 0 and "none" or table.concat(names, ", ")), 0)
end

local function obey(self, request)
  local name = request["do"]
  local command = self.commands[name]
  if type(name) ~= "string" then
    error("a request says what to do: {\"do\":\"info\"}", 0)
  elseif not command then
    unknown("the request", name, self.commands)
  end
  for key in pairs(request) do
    if key ~= "do" and key ~= "id" and not command.arguments[key] then
      unknown("of " .. name .. ", the key", key, command.arguments)
    end
  end
  return command.run(self, request)
end

-- A number or a string; JSON has no way to write some numbers that are read (1e999).
local function id_of(request)
  local id = request.id
  if type(id) == "string" or type(id) == "number" and id - id == 0 then return id end
end

local function handle(self, line)
  if self.raw then return self:stop() end -- no line can be sent any more
  local parsed, request = pcall(cjson.decode, line)
  if not parsed or type(request) ~= "table" then
    return self:say(nil, {error = "a request is a line with an object in JSON, not: "
      .. line:sub(1, 40):gsub("[^\32-\126]", "?")})
  end
  local id = id_of(request)
  local ok, answer, job = pcall(obey, self, request)
  if ok and type(answer) == "function" then
    self.awaited = {id = id, answer = answer}
    return
  end
  if not ok then return self:say(id, {error = tostring(answer)}) end
  self:say(id, {answer = answer})
  if job then
    self.jobs[#self.jobs + 1] = job
    if job.begin then job:begin(id) end
  end
end

--- Bytes have come from the client; nil: it has gone.
function Session:receive(bytes)
  if not bytes then
    self.at_end = true
  else
    self.input = self.input .. bytes
  end
end

-- The next whole line of the input, without its end; nil if there is none.
local function next_line(self)
  local line, rest = self.input:match("^([^\n]*)\n(.*)$")
  if line then self.input = rest end
  return line
end

-- Does a client that takes little have to take some before it is answered? One that
-- gets bytes gets no answers: a line from it ends them, however many wait.
local function is_behind(self)
  return self.outgoing >= MUCH_OUTPUT and not self.raw
end

--- Answer what has come.
function Session:work()
  for _ = 1, LINES_AT_ONCE do
    local line = not is_behind(self) and not self.done and not self.awaited
      and next_line(self)
    if not line then break end
    self.asked = true
    if line:find("%S") then handle(self, line) end
  end
  local waiting = self.input:find("\n", 1, true)
  if #self.input > LONGEST_LINE and not waiting then
    self:say(nil, {error = ("a request has up to %d bytes"):format(LONGEST_LINE)})
    self.input, self.at_end, self.done = "", true, true
  end
  self.full = #self.input > LONGEST_LINE or is_behind(self)
  if self.at_end and not waiting and not self.awaited then self.done = true end
end

-- Give the answer that is awaited, if it is known now.
local function answer_late(self)
  local awaited = self.awaited
  local ok, answer = pcall(awaited.answer)
  if ok and answer == nil then return end
  self.awaited = nil
  self:say(awaited.id, ok and {answer = answer} or {error = tostring(answer)})
end

-- Jobs ----------------------------------------------------------------------------

--- Let the jobs do what they have to, at the time `now`; those that have ended go.
function Session:tend(now)
  if self.awaited then answer_late(self) end
  for i = #self.jobs, 1, -1 do
    local job = self.jobs[i]
    job:tend(now)
    if job.ended then table.remove(self.jobs, i) end
  end
end

--- Has it more to do than to wait for the client?
function Session:busy()
  return #self.jobs > 0 or self.outgoing > 0 or self.input ~= "" or self.awaited ~= nil
end

--- Has the client made no request yet? It makes room for others.
function Session:is_idle() return not self.asked end

--- Stop all jobs; how many there were. Each says its last words.
function Session:stop()
  local n = #self.jobs
  for _, job in ipairs(self.jobs) do job:stop() end
  self.jobs = {}
  return n
end

--- The connection is no more.
function Session:ended()
  self.at_end = true
  self:stop()
end

return session
