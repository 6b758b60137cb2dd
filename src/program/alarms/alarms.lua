-- SPDX-License-Identifier: Apache-2.0
-- `perigee alarms COMMAND`: see what is wrong with a running network function, and say
-- what has been done about it, over the socket of `perigee config`.

local cli = require("lib.cli")
local client = require("lib.leader.client")
local commands = require("program.alarms.commands")
local failure = require("core.failure")
local near = require("lib.stack.nearest")

local M = {summary = "see alarms of a running lwAFTR, and answer them"}

local function usage()
  local lines = {"Usage: perigee alarms COMMAND [OPTIONS] INSTANCE ...", "",
    "See what is wrong with a running network function, and say what has been done "
      .. "about it.", "`perigee alarms COMMAND --help` explains each command.", ""}
  for _, name in ipairs(commands.names) do
    lines[#lines + 1] = ("  %-18s  %s"):format(name, commands[name].summary)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function sentence(text) return text:sub(1, 1):upper() .. text:sub(2) .. "." end

--- Run the command `args[1]` with the arguments behind it.
function M.run(args)
  local name = args[1]
  if name == "-h" or name == "--help" then
    io.write(usage())
    return
  end
  local command = name and name ~= "names" and commands[name]
  if not command then
    failure.usage("alarms %s; see `perigee alarms --help`", name
      and ("has no command '%s'%s"):format(name, near.hint(name, commands.names))
      or "needs a command")
  end
  local p = cli.parser("alarms " .. name, sentence(command.summary))
  p:argument("instance", "its name or process id; `perigee ps` lists those there are")
  command.arguments(p)
  local options = cli.parse(p, {unpack(args, 2)})
  local connection = client.connect(options.instance)
  command.run(connection, options)
  connection:close()
end

return M
