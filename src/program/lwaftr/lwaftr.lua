-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr COMMAND`: the lightweight 4over6 address family transition router
-- (RFC 7596), border router of softwires. Each command is a module beside this one.

local failure = require("core.failure")
local near = require("lib.stack.nearest")

local M = {summary = "lightweight 4over6: check an lwAFTR, make its configuration"}

local COMMANDS = {
  {"check", "send packets from files through an lwAFTR to files, and compare counters"},
  {"generate", "make a configuration of many softwires, and packets for it"},
}
local ALSO = {["generate-configuration"] = "generate"} -- upstream's name

local function usage()
  local lines = {"Usage: perigee lwaftr COMMAND [ARGUMENTS]", "",
    "An lwAFTR (RFC 7596). `perigee lwaftr COMMAND --help` explains each command.", ""}
  for _, command in ipairs(COMMANDS) do
    lines[#lines + 1] = ("  %-10s %s"):format(command[1], command[2])
  end
  return table.concat(lines, "\n") .. "\n"
end

local function find(name)
  name = ALSO[name] or name
  local names = {}
  for i, command in ipairs(COMMANDS) do
    if command[1] == name then return name end
    names[i] = command[1]
  end
  failure.usage("lwaftr has no command '%s'%s; see `perigee lwaftr --help`", name,
    near.hint(name, names))
end

--- Run the command `args[1]` with the arguments behind it.
function M.run(args)
  local name = args[1]
  if name == "-h" or name == "--help" then
    io.write(usage())
    return
  end
  if not name then
    failure.usage("lwaftr needs a command; see `perigee lwaftr --help`")
  end
  local command = require("program.lwaftr." .. find(name))
  command.run({unpack(args, 2)})
end

return M
