-- SPDX-License-Identifier: Apache-2.0
-- Devices that Kubernetes has given to this container: its SR-IOV device plugin puts
-- the addresses of those of a resource, "intel.com/sriov", into the environment
-- variable PCIDEVICE_INTEL_COM_SRIOV, with commas between.

local failure = require("core.failure")
local pci_device = require("lib.hardware.pci_device")
local stdlib = require("posix.stdlib")

local sriov_env = {}

local function names()
  local list = {}
  for name in pairs(stdlib.getenv()) do
    if name:match("^PCIDEVICE_") and not name:match("_INFO$") then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return #list > 0 and table.concat(list, ", ") or "none"
end

--- The full address of the device that `text` names: a variable's name, and behind a
--- dot which of its devices (PCIDEVICE_INTEL_COM_SRIOV.2; the first without). Nil if it
--- isn't such a name; a usage error if there is no such device.
function sriov_env.device(text)
  local name, number = text:match("^(PCIDEVICE_[%w_]+)%.?(%d*)$")
  if not name then return nil end
  local value = stdlib.getenv(name)
  if not value then
    failure.usage("port '%s': there is no environment variable %s; those of devices: "
      .. "%s", text, name, names())
  end
  local addresses = {}
  for word in value:gmatch("[^,%s]+") do addresses[#addresses + 1] = word end
  local address = addresses[tonumber(number) or 1]
  local full = address and pci_device.full_address(address)
  if not full then
    failure.usage("port '%s': %s has %d devices: '%s'", text, name, #addresses, value)
  end
  return full
end

return sriov_env
