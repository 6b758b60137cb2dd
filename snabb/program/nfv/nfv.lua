-- SPDX-License-Identifier: Apache-2.0
-- `perigee nfv COMMAND`, also `perigee snabbnfv COMMAND`: Snabb NFV, a switch for
-- virtual machines. Each command is a module next to this one.

local M = {summary = "switch virtual machines: VLANs, filters, tunnels (Snabb NFV)"}

--- Why --cpus is refused.
M.one_cpu = "its switch has the links of all ports"

local function gone(command)
  return command .. " isn't part of Perigee: copy the dump of Neutron's database by "
    .. "other means, and run `perigee nfv neutron2snabb`"
end

M.run = require("lib.commands")("nfv", {
  {"traffic", "run a configuration, and follow its file"},
  {"fuzz", "make a random configuration for tests"},
  {"neutron2snabb", "make configurations of a dump of OpenStack Neutron's database"},
  about = {"A switch for virtual machines, with the configuration files of Snabb NFV.",
           "`perigee nfv COMMAND --help` explains each command."},
  gone = {["neutron-sync-master"] = gone("neutron-sync-master"),
          ["neutron-sync-agent"] = gone("neutron-sync-agent")},
})

return M
