-- SPDX-License-Identifier: Apache-2.0
-- A client of a web server (lib.sockets has what a session is): requests and their
-- answers, one after the other.

local C = require("core.native")
local messages = require("net.http.messages")

local session = {}

local LONGEST_HEAD, LONGEST_BODY = 16384, 1048576 -- bytes
local MUCH_OUTPUT = 1048576 -- bytes: more requests wait until they are sent
local REQUEST_SECONDS = 5   -- from its connection on, until its request is whole
local PATIENCE_SECONDS = 60 -- until it has taken the answer

local Session = {}
Session.__index = Session

--- A session that gets its pages from page(request): status, body, media type.
--- `request`: as from net.http.messages, without the part of the path from "#" on, and
--- with its `body`. page() runs in a coroutine: it may yield, and goes on with the next
--- work(). `options`, all optional: any_method, or else requests other than GET and
--- HEAD are refused; keep, or else there is one request, and a client that hasn't sent
--- it or taken its answer in time makes room for others; longest_head, longest_body,
--- bytes (16384, 1048576); now(), seconds (for tests).
function session.new(page, options)
  options = options or {}
  local now = options.now or C.pg_monotonic
  return setmetatable({
    page = page, any_method = options.any_method, keep = options.keep,
    most_head = options.longest_head or LONGEST_HEAD,
    most_body = options.any_method and (options.longest_body or LONGEST_BODY) or 0,
    input = "", parts = {}, waiting = 0, needed = 0, output = {}, outgoing = 0,
    now = now, ends = not options.keep and now() + REQUEST_SECONDS or nil,
  }, Session)
end

--- Has the client not asked for anything yet, or got all that it has asked for?
function Session:is_idle()
  return not (self.thread or self.done or self.outgoing > 0)
end

--- Bytes have come; nil: the client has said all.
function Session:receive(bytes)
  if not bytes then
    self.at_end = true
  elseif not self.is_last then -- what comes behind the last request is nobody's
    self.parts[#self.parts + 1] = bytes
    self.waiting = self.waiting + #bytes
  end
end

-- Answers -------------------------------------------------------------------------

local function send(self, text)
  self.output[#self.output + 1] = text
  self.outgoing = self.outgoing + #text
end

-- No further request is read.
local function finish(self)
  self.is_last, self.at_end = true, true
  self.input, self.parts, self.waiting = "", {}, 0
end

local function answer(self, status, body, kind, request)
  local keep = self.keep and request and request.keep or false
  send(self, messages.head(status, #body, kind, keep))
  if not (request and request.method == "HEAD") then send(self, body) end
  self.thread, self.request, self.full = nil, nil, nil
  if not keep then finish(self) end
end

-- Go on with the page.
local function make(self, request)
  local ok, status, body, kind = coroutine.resume(self.thread, request)
  if not ok then return answer(self, 500, tostring(status) .. "\n") end
  if coroutine.status(self.thread) ~= "suspended" then
    answer(self, status, body, kind, self.request)
  end
end

-- Requests ------------------------------------------------------------------------

-- The answer to a request that is refused: a status and a sentence; or nil.
local function refusal(self, request)
  if not request then return 400, "this is no request of HTTP/1.1\n" end
  if not self.any_method and request.method ~= "GET" and request.method ~= "HEAD" then
    return 405, "there is only GET and HEAD\n"
  elseif request.is_chunked then
    return 411, "say how long the body is: Content-Length\n"
  elseif request.length > self.most_body then
    return 413, ("the body has more than %d bytes\n"):format(self.most_body)
  end
end

-- Take the request's head from the input, when it is whole.
local function take_head(self)
  local request, behind = messages.request(self.input)
  if (behind or #self.input) > self.most_head then
    return answer(self, 431, "the request is too long\n")
  elseif request == nil then
    return
  end
  local status, sentence = refusal(self, request)
  if status then return answer(self, status, sentence) end
  request.path = request.path:gsub("#.*$", "")
  self.input, self.request = self.input:sub(behind), request
  if (request.headers.expect or ""):lower() == "100-continue" and request.minor > 0
      and #self.input < request.length then
    send(self, "HTTP/1.1 100 Continue\r\n\r\n") -- RFC 9110, section 10.1.1
  end
end

-- The input with what has come, if that may be enough for the next request.
local function gather(self)
  if #self.input + self.waiting < self.needed then return false end
  self.parts[#self.parts + 1] = ""
  self.input = self.input .. table.concat(self.parts)
  self.parts, self.waiting, self.needed = {}, 0, 0
  return true
end

-- Begin with the page of the next request; false if that isn't whole.
local function take(self)
  if not gather(self) then return false end
  if not self.request then take_head(self) end
  local request = self.request
  if not request then return false end
  self.needed = request.length
  if #self.input < request.length then return false end
  request.body, self.needed = self.input:sub(1, request.length), 0
  self.input = self.input:sub(request.length + 1)
  self.is_last = not (self.keep and request.keep)
  self.ends = not self.keep and self.now() + PATIENCE_SECONDS or nil
  self.thread, self.full = coroutine.create(self.page), self.keep
  make(self, request)
  return true
end

--- Answer the requests that are whole.
function Session:work()
  if self.ends and self.now() > self.ends then
    self.output, self.outgoing, self.done = {}, 0, true
  end
  if self.done then return end
  if self.thread then make(self) end
  local more = true
  while more and not (self.thread or self.is_last) and self.outgoing < MUCH_OUTPUT do
    more = take(self)
  end
  if self.thread then return end
  self.paused = more and not self.is_last
  self.done = self.is_last or self.at_end and not self.paused
end

return session
