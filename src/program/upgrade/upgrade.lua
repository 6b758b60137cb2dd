-- SPDX-License-Identifier: Apache-2.0
-- `perigee upgrade`: another process in the place of the one that has a name (--keep),
-- of this version of Perigee, and maybe with another command line (exchange.lua).

local cli = require("lib.cli")
local exchange = require("program.upgrade.exchange")
local failure = require("core.failure")
local file_lock = require("core.lib.file_lock")
local keep = require("net.keep.keep")
local other = require("program.upgrade.other")
local previous = require("program.upgrade.previous")
local reload = require("program.upgrade.reload")
local standby = require("net.keep.standby")
local tree = require("core.shm.tree")

local M = {summary = "put another process in the place of the one with a name (--keep)"}

--- Why --sandbox is refused.
M.no_sandbox = "it starts a program"

-- What the process with the name ran before its last upgrade.
local function former(name)
  return previous.read(name)
    or failure.usage("upgrade %s --back: nothing ran before an upgrade", name)
end

-- Let the command that make(BEFORE) gives run in the place of the one with the name.
local function run(name, make, seconds)
  local good, problem = keep.check_name(name)
  if not good then failure.usage("'%s' is no name: %s", name, problem) end
  local path = keep.folder(name)
  local lock = tree.exists(path) and file_lock.open(path)
  local old = lock and standby.holder(lock)
  if not old then
    failure.raise("upgrade %s: no process of this pid namespace has the name; "
      .. "`perigee keep list` shows those that are in use", name)
  end
  local before = other.command_of(old)
  exchange.run{name = name, lock = lock, old = old, before = before,
    command = other.standing_by(make(before)), place = other.place_of(old),
    seconds = seconds}
end

local function run_reload(options)
  local pid = tonumber(options.name:match("^%d+$"))
  if not pid or #options.command == 0 or options.back then
    failure.usage("upgrade --reload: give the id of the process and, behind --, its "
      .. "options and program")
  end
  local name, command = reload.of(pid, options.command)
  if name then run(name, function () return command end, options.patience) end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("upgrade", "Put another process in the place of the one "
    .. "that has a name (--keep NAME): this version of Perigee with the same command "
    .. "line, or with another.")
  parser:argument("name", "The name; with --reload the process's id.")
  parser:argument("command", "Behind --: options and a program with its arguments "
    .. "(default: as the process that runs has them)."):args("*")
  parser:flag("--back", "What ran before the last upgrade, again.")
  parser:flag("--reload", "For services: let the process of this id run the command; "
    .. "SIGHUP alone if version and command are the same, and it takes that.")
  parser:option("--patience", "Seconds to wait for the new process, without those "
    .. "it waits for a CPU (default 60).", "60")
    :convert(cli.positive_number)
  local options = cli.parse(parser, args)
  if options.back and #options.command > 0 then
    failure.usage("upgrade: --back takes no command: it is what ran before")
  end
  if options.reload then return run_reload(options) end
  run(options.name, function (before)
    if options.back then return former(options.name) end
    return other.with_words(before, options.name, options.command)
  end, options.patience)
end

return M
