-- SPDX-License-Identifier: Apache-2.0
-- Handlers by HTTP/1.1: GET /ELEMENT/HANDLER[/ARGUMENT] reads, POST writes the body.
-- Lists are JSON for those who accept that ("Accept: application/json", or ?json).
-- (RFC 9110, RFC 9112.)
--
-- A browser may be made to send requests by any page that it shows. So requests that
-- come from a page of another origin, or that name a host that isn't this one, are
-- refused.

local errors = require("click.errors")
local calls = require("click.script.calls")
local messages = require("lib.http")
local paths = require("click.script.http_paths")
local trust = require("click.script.trust")

local http = {}

local LONGEST_HEAD = 64 * 1024
local MOST_DATA = 64 * 1024 * 1024
local MUCH_OUTPUT = 1024 * 1024

local REASONS = messages.REASONS

local Session = {}
Session.__index = Session

--- A session with the router. `options`: read_only; is_own, as
--- click.script.protocol has it; aliases, paths by other paths.
function http.session(router, options)
  return setmetatable({router = router, read_only = options.read_only,
    is_own = options.is_own,
    aliases = options.aliases or {}, input = "", parts = {}, waiting = 0, needed = 0,
    output = {}, outgoing = 0}, Session)
end

-- Answers -------------------------------------------------------------------------

local function send(self, s)
  self.output[#self.output + 1] = s
  self.outgoing = self.outgoing + #s
end

local function answer(self, request, status, body, kind)
  if not request.keep then self.at_end, self.input = true, "" end
  send(self, messages.head(status, #body, kind, request.keep))
  if request.method ~= "HEAD" then send(self, body) end
end

local function failure_text(reporter, default)
  return #reporter.lines > 0 and reporter:text() or default .. "\n"
end

-- Reading and writing -------------------------------------------------------------

-- Does the client want lists as JSON?
local function wants_json(request)
  local accept = request.headers.accept or ""
  return request.query == "json"
    or accept:lower():find("application/json", 1, true) ~= nil
end

local function read(self, request, call)
  if not call.handler.read then
    return answer(self, request, 405, ("'%s' can't be read\n"):format(calls.name(call)))
  end
  local reporter = errors.new()
  local text = trust.call(self.router, self.is_own, calls.read, call, reporter)
  if not text or reporter.count > 0 then
    return answer(self, request, 400, failure_text(reporter, "it can't be read"))
  end
  if wants_json(request) then
    return answer(self, request, 200, paths.json(self.router, call, text) .. "\n",
      "application/json")
  end
  answer(self, request, 200, text)
end

local function write(self, request, call)
  if not call.handler.write then
    return answer(self, request, 405,
      ("'%s' can't be written to\n"):format(calls.name(call)))
  elseif self.read_only then
    return answer(self, request, 403, "handlers can only be read\n")
  end
  local reporter = errors.new()
  local status = trust.call(self.router, self.is_own, calls.write, call, reporter)
  if reporter.count > 0 or status < 0 then
    return answer(self, request, 400, failure_text(reporter, "error"))
  end
  answer(self, request, 200, "success")
end

-- What methods make of a path's handler name and argument, and of the body: the
-- handler's name and its text.
local METHODS = {
  GET = function (name, argument) return name, argument, read end,
  POST = function (name, _, body) return name, body, write end,
  PUT = function (name, argument, body)
    return "put_" .. name, argument .. "\n" .. body, write
  end,
  DELETE = function (name, argument) return "delete_" .. name, argument, write end,
}
METHODS.HEAD = METHODS.GET

-- The name and port in "http://NAME:PORT" or "NAME:PORT".
local function place(s) return (s:gsub("^%a+://", ""):lower()) end

local NAMES = {localhost = true, ["127.0.0.1"] = true, ["[::1]"] = true}

-- Has a page of another place made this request, or does it mean another machine?
local function is_foreign(request)
  local host, origin = request.headers.host, request.headers.origin
  if origin and host and place(origin) ~= place(host) then return true end
  local name = host and place(host):gsub(":%d+$", "")
  return name ~= nil and not NAMES[name] and not name:find("^%d+%.%d+%.%d+%.%d+$")
end

local function obey(self, request, body)
  local method = METHODS[request.method]
  if not method then return answer(self, request, 405, "Unsupported method\n") end
  if is_foreign(request) then
    return answer(self, request, 403, "not for pages of other origins\n")
  end
  local element, name, argument = paths.resolve(self.router, request.path, self.aliases)
  if not element then return answer(self, request, 404, name .. "\n") end
  local act
  name, argument, act = method(name, argument, body)
  local call = calls.make(element, name, argument)
  if not call.handler or call.handler.private then
    return answer(self, request, 404, ("there is no handler '%s' at '%s'\n")
      :format(name, request.path))
  end
  if act == read and not call.handler.param then call.argument = "" end
  act(self, request, call)
end

-- Requests ------------------------------------------------------------------------

-- How many bytes the body has; nil after an answer that refuses it.
local function body_length(self, request)
  local headers = request.headers
  local length = headers["content-length"]
  local problem = headers["transfer-encoding"] and 411
    or length and not length:find("^%d+$") and 400
    or length and tonumber(length) > MOST_DATA and 413
  if not problem then return tonumber(length or 0) end
  request.keep = false
  answer(self, request, problem, REASONS[problem] .. "\n")
end

-- Take the next request; false if it isn't complete.
local function take(self)
  local request = self.request
  if not request then
    local behind
    request, behind = messages.request(self.input)
    if request == nil then
      if #self.input > LONGEST_HEAD then
        answer(self, {}, 431, REASONS[431] .. "\n")
      end
      return false
    end
    self.input = self.input:sub(behind)
    if not request then
      answer(self, {}, 400, REASONS[400] .. "\n")
      return false
    end
    request.length = body_length(self, request)
    if not request.length then return false end
    if (request.headers.expect or ""):lower() == "100-continue" then
      send(self, "HTTP/1.1 100 Continue\r\n\r\n")
    end
    self.request = request
  end
  if #self.input < request.length then
    self.needed = request.length
    return false
  end
  local body = self.input:sub(1, request.length)
  self.input, self.request = self.input:sub(request.length + 1), nil
  obey(self, request, body)
  return true
end

--- Bytes from the client; nil: there will be no more.
function Session:receive(data)
  if not data then self.closed = true end
  if not data or self.at_end then return end
  self.parts[#self.parts + 1] = data
  self.waiting = self.waiting + #data
  if #self.input + self.waiting >= self.needed then
    self.input = self.input .. table.concat(self.parts)
    self.parts, self.waiting, self.needed = {}, 0, 0
  end
end

--- Answer what came.
function Session:work()
  if self.needed == 0 then
    while not self.at_end and self.outgoing < MUCH_OUTPUT and take(self) do end
  end
  self.paused = not self.at_end and self.outgoing >= MUCH_OUTPUT
  self.at_end = self.at_end or self.closed
  self.done = self.at_end
end

return http
