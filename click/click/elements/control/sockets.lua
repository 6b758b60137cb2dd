-- SPDX-License-Identifier: Apache-2.0
-- ControlSocket lets other programs read and write handlers, by Click's protocol;
-- HTTPServer does by HTTP; ChatterSocket sends them what elements print. They listen on
-- this machine's own address, for processes of the same user and root, unless they are
-- set otherwise: then who can connect can write handlers (see click.script.trust).

local arguments = require("click.arguments")
local chatter = require("click.chatter")
local element = require("click.element")
local http = require("click.script.http")
local protocol = require("click.script.protocol")
local Serving = require("click.script.serving")
local sockets = require("lib.sockets")
local text = require("click.language.text")

local LOCAL, ANYWHERE = Serving.LOCAL, "0.0.0.0"
local LONGEST_PATH = 107 -- bytes; <linux/un.h>, without the final zero

-- ControlSocket ---------------------------------------------------------------------

local KEYWORDS = {
  {"READONLY", "bool", default = false, keyword = true,
    meaning = "nothing may be written"},
  {"PROXY", "element", keyword = true,
    meaning = "an element that answers for others"},
  {"VERBOSE", "bool", default = false, keyword = true},
  {"LOCALHOST", "bool", default = true, keyword = true,
    meaning = "programs of this machine, user and root only"},
  {"RETRIES", "int", default = 0, keyword = true,
    meaning = "if the port is taken: how often it tries again, each second"},
  {"RETRY_WARNINGS", "bool", default = true, keyword = true},
}

local ControlSocket = element.define{
  name = "ControlSocket", summary = "lets other programs read and write handlers",
  ports = "0/0", extends = Serving, keywords = KEYWORDS,
  notes = [[
PORT is a number, or 8080+: that one or the next that is free. Programs write READ,
WRITE and other commands there, a line each.]],
}

-- The arguments by the type of socket.
local PLACES = {
  TCP = {"PORT", "word", required = true},
  UNIX = {"FILENAME", "filename", required = true},
  SOCKET = {"FD", "unsigned", required = true},
}

local function with_keywords(...)
  local list = {...}
  for _, spec in ipairs(KEYWORDS) do list[#list + 1] = spec end
  return list
end

-- "8080", or "8080+": that port or one behind it.
local function set_port(self, word)
  local digits, plus = word:match("^(%d+)(%+?)$")
  local port = tonumber(digits)
  if not port or port > 65535 then return "PORT requires TCP port" end
  self.port, self.wanted_port, self.next_free = port, port, plus == "+"
end

local function listen_tcp(self)
  local fd, port = sockets.listen_tcp(self.address, self.port, self.next_free)
  if not fd then return nil, port end
  self.port = port
  return fd
end

local SETTERS = {}

function SETTERS.TCP(self, a)
  local problem = set_port(self, a.PORT)
  if problem then return problem end
  self:add_handler("port", {read = function () return self.port end})
end

function SETTERS.UNIX(self, a)
  if #a.FILENAME > LONGEST_PATH then return "filename too long" end
  self.path = a.FILENAME
  self:add_handler("filename", {read = function () return self.path end})
end

function SETTERS.SOCKET(self, a) self.descriptor = a.FD end

-- What both kinds of sockets have; true unless something is wrong.
local function settle(self, kind, a)
  self.kind, self.address = kind, a.LOCALHOST and LOCAL or ANYWHERE
  self.retries, self.retry_warnings = a.RETRIES, a.RETRY_WARNINGS
  local problem = SETTERS[kind](self, a)
  return not problem or self:error("%s", problem)
end

function ControlSocket:configure_raw(list)
  local kind = text.unquote(list[1] or ""):upper()
  local place = PLACES[kind]
  if not place and kind ~= "" then
    return self:error("unknown socket type '%s'", kind)
  end
  local specs = with_keywords({"TYPE", "word", required = true}, place)
  local a = arguments.parse(specs, list, self)
  if not a then return end
  self.read_only, self.proxy, self.verbose = a.READONLY, a.PROXY, a.VERBOSE
  if settle(self, kind, a) and kind == "TCP" and not a.LOCALHOST then
    self.router.is_open = true
  end
end

function ControlSocket:listen()
  if self.kind == "UNIX" then return sockets.listen_unix(self.path) end
  return listen_tcp(self)
end

function ControlSocket:session(own)
  return protocol.session(self.router, {read_only = self.read_only,
    is_own = own, proxy = self.proxy})
end

--- A connection that is there already (SOCKET) needs no listening.
function ControlSocket:initialize()
  if self.kind ~= "SOCKET" then return Serving.initialize(self) end
  self:start(nil)
  self.server:add(self.descriptor)
end

-- ChatterSocket ---------------------------------------------------------------------

local ChatterSocket = element.define{
  name = "ChatterSocket", summary = "sends copies of what elements print",
  ports = "0/0", division = "none",
  undivided = "what copies print isn't collected in one copy",
  extends = Serving, usage = "TCP, PORT [, keywords] or UNIX, FILENAME [, keywords]",
  arguments = {
    {"CHANNEL", "word", default = "default", keyword = true},
    {"QUIET_CHANNEL", "bool", default = true, keyword = true},
    {"GREETING", "bool", default = true, keyword = true},
    {"LOCALHOST", "bool", default = true, keyword = true},
    {"RETRIES", "int", default = 0, keyword = true},
    {"RETRY_WARNINGS", "bool", default = true, keyword = true},
  },
  differs = "It listens on this machine's own address, unless LOCALHOST is false. No "
    .. "element prints to a CHANNEL but the default one.",
}

local HELLO = "Click::ChatterSocket/1.0\r\n"
local MOST_BEHIND = 500000 -- bytes that a client hasn't taken

-- A client: what it says is of no interest.
local Listener = {}
Listener.__index = Listener

function Listener:receive(bytes) self.done = self.done or not bytes end
function Listener:work() end -- luacheck: no self

function Listener:tell(line)
  if self.outgoing + #line > MOST_BEHIND then
    self.output, self.outgoing, self.sent, self.done = {}, 0, nil, true
  elseif not self.done then
    table.insert(self.output, line)
    self.outgoing = self.outgoing + #line
  end
end

function ChatterSocket:configure_raw(list)
  local kind = text.unquote(list[1] or ""):upper()
  local place = kind ~= "SOCKET" and PLACES[kind] or nil
  if not place and kind ~= "" then
    return self:error("unknown socket type '%s'", kind)
  end
  local specs = {{"TYPE", "word", required = true}, place}
  for _, spec in ipairs(ChatterSocket.arguments) do specs[#specs + 1] = spec end
  local a = arguments.parse(specs, list, self)
  if not a then return end
  self.greeting, self.channel = a.GREETING, a.CHANNEL
  settle(self, kind, a)
end

ChatterSocket.listen = ControlSocket.listen

function ChatterSocket:session()
  local listener = setmetatable({output = {}, outgoing = 0}, Listener)
  if self.greeting then listener:tell(HELLO) end
  return listener
end

function ChatterSocket:initialize()
  Serving.initialize(self)
  if self.channel ~= "default" then return end
  chatter.listen(self, function (line)
    for _, listener in pairs(self.server and self.server.connections or {}) do
      listener:tell(line .. "\n")
    end
  end)
end

function ChatterSocket:cleanup()
  chatter.listen(self, nil)
  Serving.cleanup(self)
end

-- HTTPServer ------------------------------------------------------------------------

local HTTPServer = element.define{
  name = "HTTPServer", summary = "reads and writes handlers by HTTP, with JSON",
  ports = "0/0", extends = Serving, kind = "HTTP", retries = 0,
  handlers = {port = {read = function (self) return self.port end}},
}

local HTTP_ARGUMENTS = {
  {"PORT", "word", default = "80"},
  {"VERBOSE", "bool", default = false, keyword = true},
  {"READONLY", "bool", default = false, keyword = true},
  {"LOCALHOST", "bool", default = true, keyword = true},
}

-- The arguments but for those with ALIAS_MAP, whose paths are set.
local function take_aliases(self, list)
  local others = {}
  self.aliases = {}
  for _, argument in ipairs(list) do
    local alias = argument:match("^ALIAS_MAP%s+(.*)$")
    if not alias then
      others[#others + 1] = argument
    else
      local path, target = text.unquote(alias):match("^/?([^:]*):/?(.*)$")
      if not path then return nil, ("Cannot find ':' in alias %s"):format(alias) end
      self.aliases[path] = target
    end
  end
  return others
end

function HTTPServer:configure_raw(list)
  local others, problem = take_aliases(self, list)
  if not others then return self:error("%s", problem) end
  local a = arguments.parse(HTTP_ARGUMENTS, others, self)
  if not a then return end
  problem = set_port(self, a.PORT)
  if problem then return self:error("%s", problem) end
  self.read_only, self.verbose = a.READONLY, a.VERBOSE
  self.address = a.LOCALHOST and LOCAL or ANYWHERE
  self.router.is_open = self.router.is_open or not a.LOCALHOST
end

function HTTPServer:listen()
  return listen_tcp(self)
end

function HTTPServer:session(own)
  return http.session(self.router, {read_only = self.read_only, is_own = own,
    aliases = self.aliases})
end

return {ControlSocket, ChatterSocket, HTTPServer}
