-- SPDX-License-Identifier: Apache-2.0
-- Where web servers listen, as users write it: [ADDRESS:]PORT or unix:PATH.

local C = require("core.native")
local errno = require("posix.errno")
local failure = require("core.failure")
local http = require("net.http.messages")
local patience = require("core.lib.patience")
local sockets = require("lib.sockets")

local listen = {}

local LOCAL = "127.0.0.1"
local PATIENCE_SECONDS, LOOK_SECONDS = 3, 0.02

--- What `text`, the value of `option`, means: {address =, port =} or {path =}. Raises a
--- failure.
function listen.parse(option, text)
  local path = text:match("^unix:(.+)$")
  if path then return {path = path} end
  local address, port = text:match("^([%d.]+):(%d+)$")
  port = tonumber(port or text:match("^%d+$"))
  if not port or port > 65535 then
    failure.usage("%s %s: give a TCP port, ADDRESS:PORT with an IPv4 address, or "
      .. "unix:PATH", option, text)
  end
  return {address = address or LOCAL, port = port}
end

local function try(place)
  if place.path then return sockets.listen_unix(place.path) end
  return sockets.listen_tcp(place.address, place.port)
end

--- A socket that listens there. Raises a failure that says why there can't be one. A
--- place in use is waited for: the helper of a process that was killed
--- (lib.control.metrics) listens until the kernel has ended it, too.
function listen.open(option, text)
  local place, limit = listen.parse(option, text), patience.new(PATIENCE_SECONDS)
  local fd, problem, number = try(place)
  while number == errno.EADDRINUSE and not limit:over() do
    C.pg_sleep(LOOK_SECONDS)
    fd, problem, number = try(place)
  end
  if not fd then failure.raise("%s %s: %s", option, text, problem) end
  return fd, place.path
end

--- For a server at `place` (listen.parse) without a password: a function from a request
--- (net.http.messages) to the sentence that refuses it, if a page of others may have
--- made it. At other addresses than this machine's own names are usual. A name without
--- a dot is nobody's in the DNS.
function listen.foreign(place)
  return function (request)
    if http.foreign_origin(request) then return "not for pages of other origins" end
    local own = place.address and place.address:match("^127%.")
    if not own or not request.headers.host then return nil end
    local host = http.foreign_host(request, {})
    if not host or not host:find(".", 1, true) then return nil end
    return ("the name '%s' isn't this machine's own: ask for 127.0.0.1"):format(host)
  end
end

return listen
