-- SPDX-License-Identifier: Apache-2.0
-- Opening the devices when a script starts, and telling which there are.

local device = require("moongen.devices.device")
local ports = require("moongen.devices.ports")

local start = {}

--- Open all devices and list them.
function start.run()
  local log = require("moongen.log")
  log:info("Initializing DPDK. This will take a few seconds...")
  ports.open_all()
  local list = device.getDevices()
  log:info("Found %d usable devices:", #list)
  for _, dev in ipairs(list) do
    print(("   Device %d: %s (%s)"):format(dev.id, dev.mac, dev.name))
  end
end

return start
