-- SPDX-License-Identifier: Apache-2.0
-- Programs that are several commands, `perigee NAME COMMAND`, each a module with run().

local failure = require("core.failure")
local spelling = require("core.lib.spelling")

local function usage(name, how)
  local lines = {("Usage: perigee %s COMMAND [ARGUMENTS]"):format(name), ""}
  for _, line in ipairs(how.about) do lines[#lines + 1] = line end
  lines[#lines + 1] = ""
  local longest = 0
  for _, command in ipairs(how) do longest = math.max(longest, #command[1]) end
  for _, command in ipairs(how) do
    lines[#lines + 1] = ("  %s%s  %s"):format(command[1],
      (" "):rep(longest - #command[1]), command[2])
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The module of the command.
local function find(name, how, command)
  command = how.also and how.also[command] or command
  local names = {}
  for i, known in ipairs(how) do
    if known[1] == command then
      return known.module or ("program.%s.%s"):format(name, command)
    end
    names[i] = known[1]
  end
  if how.gone and how.gone[command] then failure.usage("%s", how.gone[command]) end
  failure.usage("%s has no command '%s'%s; see `perigee %s --help`", name, command,
    spelling.hint(command, names), name)
end

--- The run(args) of the program `name`. `how`: a list of commands, {name, what it does,
--- module = other than program.NAME.COMMAND}, and about = lines of the help text before
--- them, also = {other name = command}, gone = {command = why it isn't there}.
return function (name, how)
  return function (args)
    local command = args[1]
    if command == "-h" or command == "--help" then
      io.write(usage(name, how))
      return
    end
    if not command then
      failure.usage("%s needs a command; see `perigee %s --help`", name, name)
    end
    require(find(name, how, command)).run({unpack(args, 2)})
  end
end
