-- SPDX-License-Identifier: Apache-2.0
-- Opening the devices, when a script first asks for one: what is wrong with its
-- arguments is found before DPDK starts, which takes a while.

local ports = require("moongen.devices.ports")

local start = {}

local is_due = false

--- The devices are known from now on, and opened by start.now(). In the main thread.
function start.run()
  ports.declare()
  is_due = true
end

--- Open the devices and list them, unless that has been done. Tasks find them open.
function start.now()
  if not is_due then return end
  is_due = false
  local log = require("moongen.log")
  log:info("Initializing DPDK. This will take a few seconds...")
  ports.open_all()
  local device = require("moongen.devices.device")
  local list = device.getDevices()
  log:info("Found %d usable devices:", #list)
  for _, dev in ipairs(list) do
    print(("   Device %d: %s (%s)"):format(dev.id, dev.mac, dev.name))
  end
end

return start
