-- SPDX-License-Identifier: Apache-2.0
-- bounce PCI SECONDS: sends each packet of a network card back to its sender.
-- Written as programs for Snabb are, for Intel's 82599.

module(..., package.seeall)

local Intel82599 = require("apps.intel.intel_app").Intel82599
local swap = require("apps.swap.swap")

function run (parameters)
   if #parameters ~= 2 then
      print("Usage: bounce PCI SECONDS")
      main.exit(1)
   end
   local pciaddr, seconds = parameters[1], tonumber(parameters[2])

   local c = config.new()
   config.app(c, "nic", Intel82599, {pciaddr = pciaddr})
   config.app(c, "swap", swap.Swap)
   config.link(c, "nic.tx -> swap.input")
   config.link(c, "swap.output -> nic.rx")
   engine.configure(c)
   engine.main({duration = seconds, report = {showlinks = true}})
end
