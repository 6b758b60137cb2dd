-- SPDX-License-Identifier: Apache-2.0
-- The command line of programs that ask a running process over its socket: `perigee
-- PROGRAM COMMAND [OPTIONS] INSTANCE ...`.

local cli = require("lib.cli")
local client = require("lib.leader.client")
local failure = require("core.failure")
local spelling = require("core.lib.spelling")

local front = {}

local function usage(program)
  local lines = {
    ("Usage: perigee %s COMMAND [OPTIONS] INSTANCE ..."):format(program.name), "",
    program.about, ("`perigee %s COMMAND --help` explains each command.")
      :format(program.name), ""}
  local width = 0
  for _, name in ipairs(program.order) do width = math.max(width, #name) end
  for _, name in ipairs(program.order) do
    lines[#lines + 1] = ("  %s%s  %s"):format(name, (" "):rep(width - #name),
      program.commands[name].summary)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function sentence(text) return text:sub(1, 1):upper() .. text:sub(2) .. "." end

--- Run the command `args[1]` with the arguments behind it. `program` has its `name`;
--- `about`, a sentence; `order`, the names of its commands as they are listed; and
--- `commands`, by name: each has a `summary`, arguments(parser), which adds those
--- behind the instance, and run(connection, options), with a lib.leader.client, or with
--- what its own connect(INSTANCE) returns. Raises a usage failure for what isn't known.
function front.run(program, args)
  local name = args[1]
  if name == "-h" or name == "--help" then
    io.write(usage(program))
    return
  end
  local command = name and program.commands[name]
  if not command then
    failure.usage("%s %s; see `perigee %s --help`", program.name, name
      and ("has no command '%s'%s"):format(name, spelling.hint(name, program.order))
      or "needs a command", program.name)
  end
  local p = cli.parser(program.name .. " " .. name, sentence(command.summary))
  p:argument("instance", "its name or process id; `perigee ps` lists those there are")
  command.arguments(p)
  local options = cli.parse(p, {unpack(args, 2)})
  local connection = (command.connect or client.connect)(options.instance)
  command.run(connection, options)
  connection:close()
end

return front
