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
local messages = require("net.http.messages")
local paths = require("click.script.http_paths")
local sessions = require("net.http.session")
local trust = require("click.script.trust")

local http = {}

local LONGEST_HEAD = 64 * 1024
local MOST_DATA = 64 * 1024 * 1024
local NO_NAMES = {} -- besides localhost and numbers

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
    return 405, ("'%s' can't be read\n"):format(calls.name(call))
  end
  local reporter = errors.new()
  local text = trust.call(self.router, self.is_own, calls.read, call, reporter)
  if not text or reporter.count > 0 then
    return 400, failure_text(reporter, "it can't be read")
  end
  if wants_json(request) then
    return 200, paths.json(self.router, call, text) .. "\n", "application/json"
  end
  return 200, text
end

local function write(self, _, call)
  if not call.handler.write then
    return 405, ("'%s' can't be written to\n"):format(calls.name(call))
  elseif self.read_only then
    return 403, "handlers can only be read\n"
  end
  local reporter = errors.new()
  local status = trust.call(self.router, self.is_own, calls.write, call, reporter)
  if reporter.count > 0 or status < 0 then
    return 400, failure_text(reporter, "error")
  end
  return 200, "success"
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

-- Has a page of another place made this request, or does it mean another machine?
local function is_foreign(request)
  return messages.foreign_origin(request)
    or request.headers.host ~= nil and messages.foreign_host(request, NO_NAMES) ~= nil
end

-- The answer to a request: status, body, media type.
local function obey(self, request)
  local method = METHODS[request.method]
  if not method then return 405, "Unsupported method\n" end
  if is_foreign(request) then return 403, "not for pages of other origins\n" end
  local element, name, argument = paths.resolve(self.router, request.path, self.aliases)
  if not element then return 404, name .. "\n" end
  local act
  name, argument, act = method(name, argument, request.body)
  local call = calls.make(element, name, argument)
  if not call.handler or call.handler.private then
    return 404, ("there is no handler '%s' at '%s'\n"):format(name, request.path)
  end
  if act == read and not call.handler.param then call.argument = "" end
  return act(self, request, call)
end

--- A session (lib.sockets) with the router: its field `router` may be replaced.
--- `options`: read_only; is_own, as click.script.protocol has it; aliases, paths by
--- other paths.
function http.session(router, options)
  local self
  self = sessions.new(function (request) return obey(self, request) end,
    {any_method = true, keep = true, longest_head = LONGEST_HEAD,
     longest_body = MOST_DATA})
  self.router, self.read_only, self.is_own = router, options.read_only, options.is_own
  self.aliases = options.aliases or {}
  return self
end

return http
