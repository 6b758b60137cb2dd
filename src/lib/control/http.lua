-- SPDX-License-Identifier: Apache-2.0
-- A client of a web server (lib.sockets has what a session is): one request of HTTP/1.1
-- (RFC 9112), one answer.

local http = {}

local LONGEST_HEAD, LONGEST_BODY = 16384, 1048576 -- bytes
local REASONS = {[200] = "OK", [400] = "Bad Request", [404] = "Not Found",
                 [405] = "Method Not Allowed", [411] = "Length Required",
                 [413] = "Content Too Large", [500] = "Internal Server Error",
                 [503] = "Service Unavailable"}

local Session = {}
Session.__index = Session

--- A session that gets its pages from page(request): status, body, media type.
--- `request`: method, path, query (nil if there is none), headers (by their names in
--- lower case), body. Requests other than GET and HEAD are refused unless `any_method`.
--- page() runs in a coroutine: it may yield, and goes on with the next work().
function http.session(page, any_method)
  return setmetatable({page = page, any_method = any_method, input = "", output = {},
    outgoing = 0}, Session)
end

--- Bytes have come; nil: the client has said all.
function Session:receive(bytes)
  if bytes then self.input = self.input .. bytes else self.at_end = true end
end

local function answer(self, status, body, kind, head_only)
  local text = ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"
    .. "Connection: close\r\n\r\n%s"):format(status, REASONS[status] or "Status",
    kind or "text/plain; charset=utf-8", #body, head_only and "" or body)
  self.output, self.outgoing = {text}, #text
  self.done, self.at_end = true, true
end

-- Go on with the page.
local function make(self, ...)
  local ok, status, body, kind = coroutine.resume(self.thread, ...)
  if not ok then return answer(self, 500, tostring(status) .. "\n") end
  if coroutine.status(self.thread) == "suspended" then return end
  answer(self, status, body, kind, self.head_only)
end

-- The request whose head is `head`; nil if it isn't one.
local function parse(head)
  local method, target, lines = head:match("^(%u+) (%S+) HTTP/1%.[01](.*)$")
  if not method then return nil end
  local headers = {}
  for name, value in lines:gmatch("\n([%w%-]+):[ \t]*([^\r\n]*)") do
    name = name:lower()
    headers[name] = headers[name] and headers[name] .. ", " .. value or value
  end
  local path, query = target:gsub("#.*$", ""):match("^([^?]*)%??(.*)$")
  return {method = method, path = path, query = query ~= "" and query or nil,
    headers = headers}
end

-- The answer to a request that is refused: a status and a sentence; or nil.
local function refusal(self, request)
  if not request then return 400, "this is no request of HTTP/1.1\n" end
  local length = request.headers["content-length"]
  if not self.any_method and request.method ~= "GET" and request.method ~= "HEAD" then
    return 405, "there is only GET and HEAD\n"
  elseif request.headers["transfer-encoding"] then
    return 411, "say how long the body is: Content-Length\n"
  elseif length and not length:find("^%d+%s*$") then
    return 400, "Content-Length is a number of bytes\n"
  elseif tonumber(length or 0) > LONGEST_BODY then
    return 413, ("the body has more than %d bytes\n"):format(LONGEST_BODY)
  end
end

-- Take the request's head from the input. Nothing happens if it isn't whole.
local function take_head(self)
  local head, behind = self.input:match("^(.-)\r?\n\r?\n()")
  if not head then
    if #self.input > LONGEST_HEAD then
      answer(self, 400, "the request is too long\n")
    end
    return
  end
  local request = parse(head)
  local status, sentence = refusal(self, request)
  if status then return answer(self, status, sentence) end
  self.input, self.request = self.input:sub(behind), request
  self.length = tonumber(request.headers["content-length"] or 0)
end

--- Answer, when the request is whole.
function Session:work()
  if self.done then return end
  if self.thread then return make(self) end
  if not self.request then take_head(self) end
  local request = self.request
  if request and #self.input >= self.length then
    request.body = self.input:sub(1, self.length)
    self.thread = coroutine.create(self.page)
    self.head_only = request.method == "HEAD"
    return make(self, request)
  end
  self.done = self.done or self.at_end
end

return http
