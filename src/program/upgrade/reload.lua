-- SPDX-License-Identifier: Apache-2.0
-- What a service's reload does (packaging/systemd): its process, which runs, is to do
-- what the service's files and the installed version say now. A change of its own
-- configuration file needs SIGHUP alone, if the program takes that; a new version or
-- command line needs another process, which only one with a name (--keep) can get.

local failure = require("core.failure")
local instances = require("lib.observe.instances")
local log = require("core.lib.log")
local objects = require("lib.observe.objects")
local other = require("program.upgrade.other")
local signal = require("posix.signal")
local signals = require("core.engine.signals")

local reload = {}

local function instance_of(pid)
  for _, instance in ipairs(instances.list()) do
    if instance.pid == pid then return instance end
  end
  failure.raise("upgrade --reload: %s is no process of Perigee's", tostring(pid))
end

-- The process's own arguments: an upgrade puts --standby in front.
local function arguments(command)
  return {unpack(command.words, command.words[2] == "--standby" and 3 or 2)}
end

local function is_same(a, b)
  return a.exe == b.exe
    and table.concat(arguments(a), "\0") == table.concat(arguments(b), "\0")
end

--- Reload the process `pid`, whose arguments are to be `words`, by SIGHUP if that will
--- do. Otherwise the name of which it is to be upgraded, and the command. Raises a
--- failure if neither can be.
function reload.of(pid, words)
  local instance = instance_of(pid)
  if instance.standby then
    failure.raise("process %d stands by for another one: restart it instead", pid)
  end
  local before = other.command_of(pid)
  local command = other.with_arguments(before, words)
  local same = is_same(before, command)
  local takes = objects.line(instance.directory .. "/" .. signals.NOTE) ~= nil
  if takes and (same or not instance.keeps) then
    if not same then
      log.warning("process %d reads its configuration again, but goes on with its "
        .. "version and options: it has no name (--keep), so restart it for these", pid)
    end
    local ok, reason = signal.kill(pid, signal.SIGHUP)
    if not ok then
      failure.raise("no signal can be sent to process %d: %s", pid, reason)
    end
    return nil
  end
  if instance.keeps then return instance.keeps, command end
  failure.raise("process %d reads no configuration again, and has no name (--keep) by "
    .. "which another one can take over: restart it", pid)
end

return reload
