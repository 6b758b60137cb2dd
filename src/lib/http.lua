-- SPDX-License-Identifier: Apache-2.0
-- HTTP/1.1's messages (RFC 9110, RFC 9112) as text, for servers of lib.sockets: heads
-- of requests and of answers. What they mean is the server's.

local http = {}

http.REASONS = {
  [200] = "OK", [400] = "Bad Request", [403] = "Forbidden", [404] = "Not Found",
  [405] = "Method Not Allowed", [411] = "Length Required",
  [413] = "Content Too Large", [431] = "Request Header Fields Too Large",
  [500] = "Internal Server Error", [503] = "Service Unavailable",
}
local REASONS = http.REASONS

-- Without spaces around it. (One pattern for both sides would go over spaces within the
-- value again and again.)
local function trimmed(value)
  local first = value:find("%S")
  return first and value:match("^.*%S", first) or ""
end

local function parse(head)
  local method, target, version, rest =
    head:match("^([%w!#$%%&'*+%-.^_`|~]+) (%S+) HTTP/1%.([01])\r?\n(.*)$")
  if not method then return false end
  local headers = {}
  for line in rest:gmatch("[^\r\n]+") do
    local name, value = line:match("^([^:%s]+):(.*)$")
    if not name then return false end
    name, value = name:lower(), trimmed(value)
    headers[name] = headers[name] and headers[name] .. ", " .. value or value
  end
  local path, query = target:gsub("^http://[^/]*", ""):match("^([^?]*)%??(.*)$")
  local connection = (headers.connection or ""):lower()
  return {method = method, headers = headers, path = path, query = query,
    keep = version == "1" and connection ~= "close" or connection == "keep-alive"}
end

--- The request that `input` begins with: {method =, path =, query =, headers = by their
--- names in small letters, keep = may the connection go on?}, and where what is behind
--- its head begins. False if it isn't one; nil if its head isn't whole yet. Takes time
--- in proportion to the input, whatever that is.
function http.request(input)
  local first = input:find("[^\r\n]")
  local newline, last = input:find("\n\r?\n", first)
  if not first or not newline then return nil end
  return parse(input:sub(first, newline)), last + 1
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
