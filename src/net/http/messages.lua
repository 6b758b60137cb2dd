-- SPDX-License-Identifier: Apache-2.0
-- HTTP/1.1's messages (RFC 9110, RFC 9112) as text, for servers of lib.sockets: heads
-- of requests (read by net.http) and of answers, and who may have made a request. What
-- they mean is the server's.

local head = require("net.http.head")

local http = {}

http.REASONS = {
  [200] = "OK", [400] = "Bad Request", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [411] = "Length Required",
  [413] = "Content Too Large", [431] = "Request Header Fields Too Large",
  [500] = "Internal Server Error", [503] = "Service Unavailable",
}
local REASONS = http.REASONS

-- The head `h` (net.http.head) of `text` as a request; false if it is none, or names
-- several hosts.
local function request_of(h, text)
  local target = h and h.method and text:match("^%S+ (%S+) HTTP/1%.%d$")
  if not target then return false end
  local headers, lists = {}, {}
  for _, field in ipairs(h.fields) do
    local list = lists[field.name] or {}
    lists[field.name], list[#list + 1] = list, field.value
  end
  if lists.host and #lists.host > 1 then return false end -- RFC 9112, section 3.2
  for name, list in pairs(lists) do headers[name] = table.concat(list, ", ") end
  local path, query = target:gsub("^http://[^/]*", ""):match("^([^?]*)%??(.*)$")
  return {method = h.method, headers = headers, path = path, query = query,
    minor = h.minor, length = h.length or 0, is_chunked = h.body == "chunked",
    keep = not h.closes}
end

--- The request that `input` begins with: {method =, path =, query =, headers = by their
--- names in small letters, minor = of HTTP/1's version, length = of its body (0 if it
--- is_chunked), keep = may the connection go on?}, and where what is behind its head
--- begins. False if it isn't one; nil if its head isn't whole yet. Takes time
--- in proportion to the input, whatever that is.
function http.request(input)
  local size, empty = head.find(input)
  if not size then return nil end
  local text = input:sub(empty + 1, size)
  local h = head.parse(text)
  return request_of(h, h and h.first.text), size + 1
end

-- A host without its port: "127.0.0.1", "[::1]" or a name, in small letters.
local function bare(host)
  return (host:match("^(%[[%x:.]+%]):?%d*$") or host:match("^([^:]*):?%d*$") or "")
    :lower()
end

local function is_number(host)
  return host:match("^%d+%.%d+%.%d+%.%d+$") or host:match("^%[[%x:.]+%]$")
end

--- The name that the request has in Host, if it is none of the set `names`, no number
--- and not localhost: then a page of others may ask under a name that is made to mean
--- this address (DNS rebinding). Else nil.
function http.foreign_host(request, names)
  local host = bare(request.headers.host or "")
  if is_number(host) or host == "localhost" or names[host] then return nil end
  return (host:sub(1, 60):gsub("[%c\127-\255]", "?"))
end

-- The name and port in "http://NAME:PORT" or "NAME:PORT".
local function authority(text) return (text:gsub("^%a+://", ""):lower()) end

--- Has a page of another origin made the request? A browser says which in Origin (RFC
--- 6454), of all requests that a page may send there but those that only read.
function http.foreign_origin(request)
  local origin, host = request.headers.origin, request.headers.host
  return origin ~= nil and authority(origin) ~= authority(host or "")
end

--- The head of an answer that no page of others shows in a frame, with a body of
--- `length` bytes of the media type `kind` (nil: text).
function http.head(status, length, kind, keep)
  return ("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"
    .. "X-Content-Type-Options: nosniff\r\n"
    .. "Content-Security-Policy: frame-ancestors 'none'\r\nX-Frame-Options: DENY\r\n"
    .. "Connection: %s\r\n\r\n"):format(status,
    REASONS[status] or "Status", kind or "text/plain; charset=utf-8", length,
    keep and "keep-alive" or "close")
end

return http
