-- SPDX-License-Identifier: Apache-2.0
-- What `perigee replicate` and the option --replicate take.

local cli = require("lib.cli")
local failure = require("core.failure")
local keep = require("net.keep.keep")
local quantity = require("lib.quantity")

local options = {}

local PORT, TOKEN = 7373, "/etc/perigee/replicate.token"
local INTERVAL_S, MEMORY = 0.05, 2 ^ 30

-- An address and a port, from "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT".
local function place(text)
  local address, port = text:match("^%[([%x:.]+)%]:?(%d*)$")
  if not address then address, port = text:match("^([%w.-]+):?(%d*)$") end
  port = port ~= "" and tonumber(port) or PORT
  if not address or port < 1 or port > 65535 then
    return nil, ("'%s' is no ADDRESS or ADDRESS:PORT"):format(text)
  end
  return {address = address, port = port}
end

local function parser()
  local p = cli.parser("replicate", "Send what is kept under a name to another host "
    .. "while this one is master, and take what another one sends while it is backup. "
    .. "`perigee notify` says which it is.")
  p:argument("name", "The name, as in --keep NAME.")
  p:argument("address", "The other host: ADDRESS[:PORT] (port 7373)."):args("?")
    :convert(place)
  p:option("--listen", "Take what another host sends to ADDRESS[:PORT]."):convert(place)
    :argname("ADDRESS")
  p:option("--token", ("The file with the token that both hosts have (default %s).")
    :format(TOKEN)):argname("FILE")
  p:option("--role", "master or backup, until `perigee notify` (default: the last role "
    .. "notified, else backup with --listen)."):choices{"master", "backup"}
  p:option("--interval", "A sweep for changes begins so often at most (default 50ms).")
    :convert(quantity.duration):argname("TIME")
  p:option("--memory", "Take so many bytes of records, "
    .. "and of what finds them, at most (default 1Gi).")
    :argname("SIZE"):convert(quantity.bytes)
  p:option("--parent"):hidden(true):convert(tonumber) -- lib.replica.child
  return p
end

local function check(o)
  local good, problem = keep.check_name(o.name)
  if not good then failure.usage("'%s' is no name: %s", o.name, problem) end
  if not (o.address or o.listen) then
    failure.usage("give the other host's address, or --listen ADDRESS, or both")
  elseif o.role == "master" and not o.address then
    failure.usage("a master sends: give the other host's address")
  elseif o.role == "backup" and not o.listen then
    failure.usage("a backup listens: give --listen ADDRESS")
  end
end

--- The arguments, NAME [ADDRESS[:PORT]] and options, as a table: name, address and
--- listen ({address, port}, or nil), token (a file), role (or nil), interval (seconds),
--- memory (bytes), parent (a process id, or nil). Raises a usage failure.
function options.parse(args)
  local o = cli.parse(parser(), args)
  check(o)
  o.token = o.token or os.getenv("PERIGEE_REPLICATE_TOKEN") or TOKEN
  o.interval, o.memory = o.interval or INTERVAL_S, o.memory or MEMORY
  return o
end

return options
