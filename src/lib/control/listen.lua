-- SPDX-License-Identifier: Apache-2.0
-- Where web servers listen, as users write it: [ADDRESS:]PORT or unix:PATH.

local failure = require("core.failure")
local sockets = require("lib.sockets")

local listen = {}

local LOCAL = "127.0.0.1"

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

--- A socket that listens there. Raises a failure that says why there can't be one.
function listen.open(option, text)
  local place = listen.parse(option, text)
  local fd, problem
  if place.path then
    fd, problem = sockets.listen_unix(place.path)
  else
    fd, problem = sockets.listen_tcp(place.address, place.port)
  end
  if not fd then failure.raise("%s %s: %s", option, text, problem) end
  return fd, place.path
end

return listen
