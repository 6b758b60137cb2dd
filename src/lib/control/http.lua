-- SPDX-License-Identifier: Apache-2.0
-- A client of a web server (lib.sockets has what a session is): one request, one
-- answer. One that hasn't taken it in time makes room for others.

local C = require("core.native")
local messages = require("lib.http")

local http = {}

local LONGEST_HEAD, LONGEST_BODY = 16384, 1048576 -- bytes
local REQUEST_SECONDS = 5   -- from its connection on, until its request is whole
local PATIENCE_SECONDS = 60 -- until it has taken the answer

local Session = {}
Session.__index = Session

--- A session that gets its pages from page(request): status, body, media type.
--- `request`: as from lib.http, without the part of the path from "#" on, and with its
--- `body`. page() runs in a coroutine: it may yield, and goes on with the next work().
--- `options`, all optional: any_method, or else requests other than GET and HEAD are
--- refused; now(), seconds (for tests).
function http.session(page, options)
  options = options or {}
  local now = options.now or C.pg_monotonic
  return setmetatable({page = page, any_method = options.any_method, input = "",
    output = {}, outgoing = 0, now = now, ends = now() + REQUEST_SECONDS}, Session)
end

--- Has the client not asked for anything yet?
function Session:is_idle() return not (self.thread or self.done) end

--- Bytes have come; nil: the client has said all.
function Session:receive(bytes)
  if not bytes then
    self.at_end = true
  elseif not self.thread then -- what comes behind the request is nobody's
    self.input = self.input .. bytes
  end
end

local function answer(self, status, body, kind, head_only)
  local text = messages.head(status, #body, kind) .. (head_only and "" or body)
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

-- The answer to a request that is refused: a status and a sentence; or nil.
local function refusal(self, request)
  if not request then return 400, "this is no request of HTTP/1.1\n" end
  local length = request.headers["content-length"]
  if not self.any_method and request.method ~= "GET" and request.method ~= "HEAD" then
    return 405, "there is only GET and HEAD\n"
  elseif request.headers["transfer-encoding"] then
    return 411, "say how long the body is: Content-Length\n"
  elseif length and not length:find("^%d+$") then
    return 400, "Content-Length is a number of bytes\n"
  end
  local most = self.any_method and LONGEST_BODY or 0
  if tonumber(length or 0) > most then
    return 413, ("the body has more than %d bytes\n"):format(most)
  end
end

-- Take the request's head from the input, when it is whole.
local function take_head(self)
  local request, behind = messages.request(self.input)
  if (behind or #self.input) > LONGEST_HEAD then
    return answer(self, 431, "the request is too long\n")
  elseif request == nil then
    return
  end
  local status, sentence = refusal(self, request)
  if status then return answer(self, status, sentence) end
  request.path = request.path:gsub("#.*$", "")
  self.input, self.request = self.input:sub(behind), request
  self.length = tonumber(request.headers["content-length"] or 0)
end

--- Answer, when the request is whole.
function Session:work()
  if self.now() > self.ends then self.output, self.outgoing, self.done = {}, 0, true end
  if self.done then return end
  if self.thread then return make(self) end
  if not self.request then take_head(self) end
  local request = self.request
  if request and #self.input >= self.length then
    request.body = self.input:sub(1, self.length)
    self.ends = self.now() + PATIENCE_SECONDS
    self.thread = coroutine.create(self.page)
    self.head_only = request.method == "HEAD"
    return make(self, request)
  end
  self.done = self.done or self.at_end
end

return http
