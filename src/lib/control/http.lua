-- SPDX-License-Identifier: Apache-2.0
-- A client of a web server (lib.sockets has what a session is): one GET, one answer.

local http = {}

local LONGEST_REQUEST = 16384
local REASONS = {[200] = "OK", [400] = "Bad Request", [404] = "Not Found",
                 [405] = "Method Not Allowed", [500] = "Internal Server Error",
                 [503] = "Service Unavailable"}

local Session = {}
Session.__index = Session

--- A session that gets its pages from page(path, openmetrics): status, body, media
--- type. `openmetrics`: does the client take that format? page() runs in a coroutine:
--- it may yield, and goes on with the next work().
function http.session(page)
  return setmetatable({page = page, input = "", output = {}, outgoing = 0}, Session)
end

--- Bytes have come; nil: the client has said all.
function Session:receive(bytes)
  if bytes then self.input = self.input .. bytes else self.at_end = true end
end

local function answer(self, status, body, kind, head_only)
  local text = ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"
    .. "Connection: close\r\n\r\n%s"):format(status, REASONS[status],
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

--- Answer, when the request is whole.
function Session:work()
  if self.done then return end
  if self.thread then return make(self) end
  local head = self.input:match("^(.-)\r?\n\r?\n")
  if not head then
    if #self.input > LONGEST_REQUEST then
      answer(self, 400, "the request is too long\n")
    elseif self.at_end then
      self.done = true
    end
    return
  end
  local method, path = head:match("^(%u+) (%S+) HTTP/1%.[01]")
  if not method then return answer(self, 400, "this is no request of HTTP/1.1\n") end
  if method ~= "GET" and method ~= "HEAD" then
    return answer(self, 405, "there is only GET and HEAD\n")
  end
  self.thread, self.head_only = coroutine.create(self.page), method == "HEAD"
  make(self, (path:gsub("[?#].*$", "")),
    head:lower():find("application/openmetrics-text", 1, true) ~= nil)
end

return http
