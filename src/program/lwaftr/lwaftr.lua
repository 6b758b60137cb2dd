-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr COMMAND`: the lightweight 4over6 address family transition router
-- (RFC 7596), border router of softwires. Each command is a module next to this one.

local failure = require("core.failure")
local near = require("lib.stack.nearest")

local M = {summary = "lightweight 4over6: run an lwAFTR, measure it, ask and change it"}

--- `run` and `bench` place queues on CPUs themselves.
M.own_cpus = true

--- What `perigee ps` is to call it.
function M.title(args) return "lwaftr " .. (args[1] or "") end

local COMMANDS = {
  {"run", "run the lwAFTRs of a configuration between ports"},
  {"bench", "run them with packets from files, over and over"},
  {"config", "ask and change the configuration of a running one"},
  {"monitor", "choose whose packets a running one mirrors"},
  {"query", "print counters of a running one, or ask whether it is ready"},
  {"drain", "let a running one be ready no more, before it is stopped"},
  {"check", "send packets from files through an lwAFTR to files, and compare counters"},
  {"generate", "make a configuration of many softwires, and packets for it"},
}
local MODULES = {config = "program.config.config"}
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
  local command = require(MODULES[name] or "program.lwaftr." .. find(name))
  command.run({unpack(args, 2)})
end

return M
