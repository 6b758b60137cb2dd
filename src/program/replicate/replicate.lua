-- SPDX-License-Identifier: Apache-2.0
-- `perigee replicate`: what is kept under a name (--keep), on another host, too.

local C = require("core.native")
local folder = require("lib.replica.folder")
local log = require("core.lib.log")
local notify = require("lib.service.notify")
local options = require("lib.replica.options")
local replicator = require("lib.replica.replicator")
local shown = require("lib.replica.shown")
local signal = require("posix.signal")
local tls = require("lib.replica.tls")
local unistd = require("posix.unistd")

local M = {summary = "send what is kept (--keep) to another host, and take it there"}

--- Why --cpus is refused.
M.one_cpu = "it runs no graph"

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

--- What `perigee ps` calls it.
function M.title(args) return "replicate " .. (args[1] or "") end

--- Run the program: `args` as in its usage.
function M.run(args)
  local o = options.parse(args)
  folder.make(o.name)
  C.pg_catch_signals()
  local function has_parent() return unistd.getppid() == o.parent end
  local function may_wait() return C.pg_signal() == 0 and has_parent() end
  if not folder.claim(o.name, o.parent and may_wait) then return end
  local role = o.role or folder.role(o.name) or (o.listen and "backup" or "master")
  folder.set_role(o.name, role) -- first of all: a standby waits by it
  local token = tls.token(o.token)
  signal.signal(signal.SIGPIPE, signal.SIG_IGN) -- OpenSSL writes to peers that are gone
  local one = replicator.new(o.name, {to = o.address, listen = o.listen, token = token,
    role = role, interval = o.interval, memory = o.memory})
  one:begin()
  shown.tell(o.name)
  log.info("%s: %s", o.name, role)
  notify.tell("READY=1")
  one:run(o.parent and function () return not has_parent() end)
  C.pg_release_signals()
end

return M
