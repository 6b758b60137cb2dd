-- SPDX-License-Identifier: Apache-2.0
-- `perigee replicate`: what is kept under a name (--keep), on another host, too.

local C = require("core.native")
local cli = require("lib.cli")
local failure = require("core.failure")
local folder = require("lib.replica.folder")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local notify = require("lib.service.notify")
local quantity = require("lib.quantity")
local replicator = require("lib.replica.replicator")
local signal = require("posix.signal")
local tls = require("lib.replica.tls")

local M = {summary = "send what is kept (--keep) to another host, and take it there"}

--- Why --cpus is refused.
M.one_cpu = "it runs no graph"

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

--- What `perigee ps` calls it.
function M.title(args) return "replicate " .. (args[1] or "") end

local PORT, TOKEN = 7373, "/etc/perigee/replicate.token"

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
  p:option("--memory", "Take so many bytes of records at most (default 1Gi).")
    :argname("SIZE"):convert(quantity.bytes)
  p:option("--parent"):hidden(true):convert(tonumber) -- --replicate
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

--- Run the program: `args` as in its usage.
function M.run(args)
  local o = cli.parse(parser(), args)
  check(o)
  folder.make(o.name)
  folder.claim(o.name)
  local role = o.role or folder.role(o.name) or (o.listen and "backup" or "master")
  folder.set_role(o.name, role) -- first of all: a standby waits by it
  local token = tls.token(o.token or os.getenv("PERIGEE_REPLICATE_TOKEN") or TOKEN)
  signal.signal(signal.SIGPIPE, signal.SIG_IGN) -- OpenSSL writes to peers that are gone
  C.pg_catch_signals()
  local one = replicator.new(o.name, {to = o.address, listen = o.listen, token = token,
    role = role, interval = o.interval or 0.05, memory = o.memory or 2 ^ 30})
  one:begin()
  log.info("%s: %s", o.name, role)
  notify.tell("READY=1")
  one:run()
  C.pg_release_signals()
end

return M
