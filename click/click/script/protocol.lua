-- SPDX-License-Identifier: Apache-2.0
-- The protocol of Click's control sockets, version 1.3: a client sends commands, a line
-- each, and gets lines that begin with a number of three digits, and data.
--
--     READ c.count
--     200 Read handler 'c.count' OK
--     DATA 2
--     17
--
-- A session is what is between one client and the router: bytes go in (receive), work()
-- obeys the commands that are complete, and bytes for the client come out (output).

local calls = require("click.script.calls")
local errors = require("click.errors")
local llrpc = require("click.script.llrpc")
local numbers = require("click.script.numbers")
local trust = require("click.script.trust")

local protocol = {}

local GREETING = "Click::ControlSocket/1.3\r\n"
local LONGEST_LINE = 1024 * 1024
local MOST_DATA = 64 * 1024 * 1024 -- bytes that one command may bring
local HTTP_REQUEST = "^%u+ %S+ HTTP/%d"
local MUCH_OUTPUT = 1024 * 1024    -- of which the client has to take some first

local OK, OK_WARNING, SYNTAX, UNIMPLEMENTED = 200, 220, 500, 501
local NO_ELEMENT, NO_HANDLER, HANDLER_ERROR, TOO_BIG = 510, 511, 520, 521
local LLRPC_ERROR, PERMISSION, UNSPECIFIED = 522, 530, 590

local Session = {}
Session.__index = Session

--- A session with the router. `options`: read_only; is_own: its client is this user or
--- root; proxy, an element whose handlers "ELEMENT.HANDLER" stand for all others.
function protocol.session(router, options)
  return setmetatable({router = router, read_only = options.read_only,
    is_own = options.is_own, proxy = options.proxy, input = "", parts = {}, needed = 0,
    waiting = 0, output = {GREETING}, outgoing = #GREETING}, Session)
end

-- Answers -------------------------------------------------------------------------

local function send(self, s)
  self.output[#self.output + 1] = s
  self.outgoing = self.outgoing + #s
end

-- A line of an answer; more lines follow it if `more`.
local function answer(self, code, message, more)
  message = message:gsub("[%z\1-\31\127]", function (c)
    return ("\\%03o"):format(c:byte())
  end)
  send(self, ("%d%s%s\r\n"):format(code, more and "-" or " ", message))
end

-- A message with the lines that the reporter got.
local function answer_with(self, code, message, reporter)
  local lines = reporter.lines
  if message then
    answer(self, code, #lines > 0 and message .. ":" or message, #lines > 0)
  end
  for i, line in ipairs(lines) do answer(self, code, line, i < #lines) end
end

local function send_data(self, data)
  send(self, ("DATA %d\r\n"):format(#data))
  send(self, data)
end

-- Handlers ------------------------------------------------------------------------

local function is_visible(handler)
  return handler ~= nil and not handler.private
end

-- The element that `name` means: its name, or its number from 1.
local function element_of(self, name)
  local element = calls.element(self.router, name)
  if element then return element end
  local number = numbers.small(name, 1, #self.router.elements)
  return number and self.router.elements[number]
end

-- The call of the handler of that name; nil after an answer that says why not.
local function find(self, full_name, argument)
  local name = full_name:gsub("^0?%.", "")
  local element, handler_name = self.proxy, name
  if not element then
    local element_name
    element_name, handler_name = name:match("^([^.]*)%.(.*)$")
    if element_name then
      element = element_of(self, element_name)
    else
      element, handler_name = self.router.root, name
    end
    if not element then
      return answer(self, NO_ELEMENT, ("No element named '%s'"):format(element_name))
    end
  end
  local call = calls.make(element, handler_name, argument)
  if is_visible(call.handler) then return call end
  answer(self, NO_HANDLER, ("No %shandler named '%s'"):format(
    self.proxy and "proxied " or "", full_name))
end

local function read(self, name, argument)
  local call = find(self, name, argument)
  if not call then return end
  if not call.handler.read then
    return answer(self, PERMISSION, ("Handler '%s' write-only"):format(name))
  end
  local reporter = errors.new()
  local data = trust.call(self.router, self.is_own, calls.read, call, reporter)
  if reporter.count > 0 or not data then
    return answer_with(self, UNSPECIFIED, ("Read handler '%s' error"):format(name),
      reporter)
  end
  answer(self, OK, ("Read handler '%s' OK"):format(name))
  send_data(self, data)
end

local function write(self, name, data)
  local call = find(self, name, data)
  if not call then return end
  if not call.handler.write then
    return answer(self, PERMISSION, ("Handler '%s' read-only"):format(name))
  elseif self.read_only then
    return answer(self, PERMISSION, ("Permission denied for '%s'"):format(name))
  end
  local reporter = errors.new()
  local status = trust.call(self.router, self.is_own, calls.write, call, reporter)
  local code, result = OK, "OK"
  if reporter.count > 0 or status < 0 then
    code, result = HANDLER_ERROR, "error"
  elseif reporter.warnings > 0 then
    code, result = OK_WARNING, "OK with warnings"
  end
  answer_with(self, code, ("Write handler '%s' %s"):format(name, result), reporter)
end

local function check(self, name, kind)
  local call = find(self, name, "")
  if not call then return end
  if not call.handler[kind] then
    local ability = kind == "read" and "readable" or "writable"
    answer(self, NO_HANDLER, ("Handler '%s' not %s"):format(name, ability))
  elseif kind == "write" and self.read_only then
    answer(self, PERMISSION, ("Permission denied for '%s'"):format(name))
  else
    local Kind = kind == "read" and "Read" or "Write"
    answer(self, OK, ("%s handler '%s' OK"):format(Kind, name))
  end
end

local function call_llrpc(self, name, data)
  local element_name, digits = name:match("^([^#]*)#?(.*)$")
  local command = digits:match("^%x+$") and tonumber(digits, 16)
  if not command or command >= 2 ^ 32 then
    return answer(self, SYNTAX, ("Syntax error in LLRPC name '%s'"):format(name))
  end
  local call = find(self, element_name .. ".name", "")
  if not call then return end
  local shape = llrpc.shape(command)
  if not shape then
    return answer(self, UNIMPLEMENTED,
      ("Cannot call LLRPC '%s' remotely"):format(name))
  elseif self.read_only then
    return answer(self, PERMISSION, ("Permission denied for '%s'"):format(name))
  elseif shape.takes and #data ~= shape.bytes then
    return answer(self, LLRPC_ERROR, ("LLRPC '%s' requires %d bytes input data")
      :format(name, shape.bytes))
  end
  local result, problem = trust.call(self.router, self.is_own, llrpc.call,
    call.element, command, data)
  if not result then
    return answer(self, LLRPC_ERROR, ("LLRPC '%s' error: %s"):format(name, problem))
  end
  answer(self, OK, ("LLRPC '%s' OK"):format(name))
  send_data(self, shape.gives and result or "")
end

-- Input ---------------------------------------------------------------------------

-- The next `n` bytes; nil if they aren't there yet, false if they won't come.
local function take(self, n)
  if #self.input >= n then
    local data = self.input:sub(1, n)
    self.input = self.input:sub(n + 1)
    return data
  elseif self.at_end then
    return false
  end
  self.needed = n
end

-- The lines up to one that is `mark`, but for spaces at its end; as take().
local function take_until(self, mark)
  local at = 1
  while true do
    local first, last = self.input:find("\r?\n", at)
    local bare = self.input:find("\r", at, true)
    if bare and (not first or bare < first) and bare < #self.input then
      first, last = bare, bare
    end
    if not first then return not self.at_end and nil end
    if self.input:sub(at, first - 1):gsub("%s+$", "") == mark then
      local data = self.input:sub(1, at - 1)
      self.input = self.input:sub(last + 1)
      return data
    end
    at = last + 1
  end
end

-- Commands: functions of the session, the words of the line, and the text behind the
-- second word. They return true if data is missing, which may still come.
local COMMANDS = {}

local WRONG_NUMBER = "Wrong number of arguments"

local function with_argument(act)
  return function (self, words, rest)
    if #words < 2 then return answer(self, SYNTAX, WRONG_NUMBER) end
    act(self, words[2], rest)
  end
end

-- Give the data that came to act(); what to return if it didn't.
local function with(self, name, data, act)
  if data then return act(self, name, data) end
  if data == nil then return true end
  answer(self, SYNTAX, "Not enough data")
end

local function with_data(act, optional)
  return function (self, words)
    local n = words[3] or optional and "0"
    if #words > 3 or not n or #words < 2 then
      return answer(self, SYNTAX, WRONG_NUMBER)
    end
    local bytes = numbers.integer(n)
    if not bytes or bytes < 0 then
      return answer(self, SYNTAX, ("Syntax error in '%s'"):format(words[1]:upper()))
    elseif bytes > MOST_DATA then
      self.at_end, self.input = true, ""
      return answer(self, TOO_BIG, ("Data too large for '%s'"):format(words[2]))
    end
    return with(self, words[2], take(self, tonumber(bytes)), act)
  end
end

local function with_lines(act)
  return function (self, words, rest)
    if #words < 2 then return answer(self, SYNTAX, WRONG_NUMBER) end
    return with(self, words[2], take_until(self, rest), act)
  end
end

local function checking(kind)
  return function (self, words)
    if #words ~= 2 then return answer(self, SYNTAX, WRONG_NUMBER) end
    check(self, words[2], kind)
  end
end

COMMANDS.READ, COMMANDS.WRITE = with_argument(read), with_argument(write)
COMMANDS.GET, COMMANDS.SET = COMMANDS.READ, COMMANDS.WRITE
COMMANDS.READDATA, COMMANDS.WRITEDATA = with_data(read), with_data(write)
COMMANDS.SETDATA = COMMANDS.WRITEDATA
COMMANDS.READUNTIL, COMMANDS.WRITEUNTIL = with_lines(read), with_lines(write)
COMMANDS.CHECKREAD, COMMANDS.CHECKWRITE = checking("read"), checking("write")
COMMANDS.LLRPC = with_data(call_llrpc, true)

function COMMANDS.QUIT(self, words)
  if #words ~= 1 then answer(self, SYNTAX, "Bad command syntax") end
  answer(self, OK, "Goodbye!")
  self.at_end, self.input = true, ""
end
COMMANDS.CLOSE = COMMANDS.QUIT

local HELP = {"Commands:",
  "READ handler [argument...]     read a handler; DATA follows",
  "READDATA handler bytes         the same, with so many bytes as argument",
  "READUNTIL handler [end]        the same, with lines up to an empty one, or `end`",
  "WRITE handler [text...]        write to a handler",
  "WRITEDATA handler bytes        the same, with so many bytes",
  "WRITEUNTIL handler [end]       the same, with lines up to an empty one, or `end`",
  "CHECKREAD handler              could it be read?",
  "CHECKWRITE handler             could it be written to?",
  "LLRPC element#number [bytes]   a call in binary form; DATA follows",
  "QUIT                           end this connection",
}
function COMMANDS.HELP(self)
  for i, line in ipairs(HELP) do answer(self, OK, line, i < #HELP) end
end

-- Sessions ------------------------------------------------------------------------

--- Bytes from the client; nil: there will be no more.
function Session:receive(data)
  if not data then self.at_end = true end
  if data and not self.at_end then
    self.parts[#self.parts + 1] = data
    self.waiting = self.waiting + #data
  end
  if self.at_end or #self.input + self.waiting >= self.needed then
    self.input = self.input .. table.concat(self.parts)
    self.parts, self.waiting, self.needed = {}, 0, 0
  end
end

-- Obey one command; false if none is complete.
local function obey(self)
  local line, behind = self.input:match("^([^\r\n]*)\r?\n?()")
  local terminated = behind > #line + 1
  if not terminated and not (self.at_end and line ~= "") then
    if #line > LONGEST_LINE then self.at_end, self.input = true, "" end
    return false
  end
  local kept, words = self.input, {}
  self.input, self.asked = kept:sub(behind), true
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  if #words == 0 then return true end
  if line:find(HTTP_REQUEST) then words = {"QUIT"} end -- a browser was made to send it
  local command = words[1]:upper()
  local rest = line:match("^%s*%S+%s+%S+%s+(.-)%s*$") or ""
  if not COMMANDS[command] then
    answer(self, UNIMPLEMENTED, ("Command '%s' unimplemented"):format(command))
  elseif COMMANDS[command](self, words, rest) then
    if self.needed > 0 then self.needed = self.needed + behind - 1 end
    self.input = kept
    return false
  end
  return true
end

--- Obey what came. Sets `done` when nothing more will. Commands behind one that has
--- replaced the router (hotconfig) wait for the new one.
function Session:work()
  if self.needed > 0 then return end
  while self.outgoing < MUCH_OUTPUT and not self.router.replaced and obey(self) do end
  self.paused = self.outgoing >= MUCH_OUTPUT
  self.done = self.at_end and self.input == ""
end

--- Has the client given no command yet? It makes room for others.
function Session:is_idle() return not self.asked end

return protocol
