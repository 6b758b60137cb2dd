-- SPDX-License-Identifier: Apache-2.0
-- relay_chain PCIADDR LENGTH SECONDS: a circle through apps that only pull().

module(..., package.seeall)

local intel = require("apps.intel.intel_app")
local relay = require("apps.relay.relay")

function run (parameters)
   if #parameters ~= 3 then
      print("Usage: relay_chain <pciaddr> <length> <seconds>")
      main.exit(1)
   end
   local pciaddr, length, seconds = unpack(parameters)

   local c = config.new()
   config.app(c, "nic", intel.Intel82599, { pciaddr = pciaddr })
   for i = 1, length do
      config.app(c, "relay" .. i, relay.Relay)
   end
   config.link(c, "nic.tx -> relay1.input")
   for i = 2, length do
      config.link(c, string.format("relay%d.output -> relay%d.input", i - 1, i))
   end
   config.link(c, "relay" .. length .. ".output -> nic.rx")
   engine.configure(c)
   engine.main({ duration = tonumber(seconds), report = { showapps = true } })
   engine.report({ showlinks = true, showapps = true, showpackets = true })
end
