-- SPDX-License-Identifier: Apache-2.0
-- `perigee notify`: which role this host has for a name, as keepalived and others say.

local cli = require("lib.cli")
local failure = require("core.failure")
local folder = require("lib.replica.folder")
local keep = require("net.keep.keep")
local poll = require("posix.poll")
local sockets = require("lib.sockets")
local turn = require("lib.replica.turn")
local unistd = require("posix.unistd")

local M = {summary = "say whether this host is master or backup for what is kept"}

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

local PATIENCE_MS = 5000

-- Tell the replicator; nil if it has taken the role, or why not.
local function tell(name, role)
  local fd, reason = sockets.connect_unix(folder.socket(name))
  if not fd then return "can't be reached: " .. reason end
  local sent = sockets.write_all(fd, role .. "\n")
  local answer = sent and poll.rpoll(fd, PATIENCE_MS) == 1 and unistd.read(fd, 100)
  unistd.close(fd)
  if answer == "done\n" then return nil end
  return answer and #answer > 0 and answer or "doesn't answer"
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local p = cli.parser("notify", "Say which role this host has for what is kept under "
    .. "a name: keepalived's notify scripts call it. It returns once the replicator "
    .. "has let go of the name (master), or takes what a master sends (backup).")
  p:argument("name", "The name, as in --keep NAME.")
  p:argument("role", "master: this host handles the packets; backup: another one does; "
    .. "fault: this one can't."):choices{"master", "backup", "fault"}
  local o = cli.parse(p, args)
  local good, problem = keep.check_name(o.name)
  if not good then failure.usage("'%s' is no name: %s", o.name, problem) end
  local replicated = folder.is_used(o.name)
  if not replicated then folder.make(o.name) end
  if o.role ~= "master" or not replicated then -- no process takes its turn from now on
    folder.set_role(o.name, o.role)
  end
  if not replicated then
    if o.role ~= "master" then turn.end_runner(o.name) end
    return print(("%s: %s, from when a replicator runs"):format(o.name, o.role))
  end
  problem = tell(o.name, o.role)
  if problem then failure.raise("the replicator of '%s' %s", o.name, problem) end
  print(("%s: %s"):format(o.name, o.role))
end

return M
