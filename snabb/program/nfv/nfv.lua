-- SPDX-License-Identifier: Apache-2.0
-- `perigee nfv COMMAND`, also `perigee snabbnfv COMMAND`: Snabb NFV, a switch for
-- virtual machines. Each command is a module next to this one.

local failure = require("core.failure")
local near = require("lib.stack.nearest")

local M = {summary = "switch virtual machines: VLANs, filters, tunnels (Snabb NFV)"}

--- Why --cpus is refused.
M.one_cpu = "its switch has the links of all ports"

local COMMANDS = {
  {"traffic", "run a configuration, and follow its file"},
  {"fuzz", "make a random configuration for tests"},
  {"neutron2snabb", "make configurations of a dump of OpenStack Neutron's database"},
}
local GONE = {["neutron-sync-master"] = true, ["neutron-sync-agent"] = true}

local function usage()
  local lines = {"Usage: perigee nfv COMMAND [ARGUMENTS]", "",
    "A switch for virtual machines, with the configuration files of Snabb NFV.",
    "`perigee nfv COMMAND --help` explains each command.", ""}
  for _, command in ipairs(COMMANDS) do
    lines[#lines + 1] = ("  %-14s %s"):format(command[1], command[2])
  end
  return table.concat(lines, "\n") .. "\n"
end

local function find(name)
  local names = {}
  for i, command in ipairs(COMMANDS) do
    if command[1] == name then return name end
    names[i] = command[1]
  end
  if GONE[name] then
    failure.usage("%s isn't part of Perigee: copy the dump of Neutron's database by "
      .. "other means, and run `perigee nfv neutron2snabb`", name)
  end
  failure.usage("nfv has no command '%s'%s; see `perigee nfv --help`", name,
    near.hint(name, names))
end

--- Run the command `args[1]` with the arguments behind it.
function M.run(args)
  local name = args[1]
  if name == "-h" or name == "--help" then
    io.write(usage())
    return
  end
  if not name then failure.usage("nfv needs a command; see `perigee nfv --help`") end
  require("program.nfv." .. find(name)).run({unpack(args, 2)})
end

return M
