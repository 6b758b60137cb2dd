-- SPDX-License-Identifier: Apache-2.0
-- Snabb's lib.hardware.pci: PCI network devices by address, for programs that look
-- for NICs. It only reads sysfs: DPDK takes the devices, and binding them to vfio-pci
-- is left to the user. An address that was replaced by another port
-- (lib.hardware.replaced) counts as a usable device, whether or not there is one.

local failure = require("core.failure")
local models = require("lib.hardware.pci_models")
local pci_device = require("lib.hardware.pci_device")
local replaced = require("lib.hardware.replaced")
local sysfs = require("lib.hardware.sysfs")
local unistd = require("posix.unistd")

local M = {}

--- The devices found by `scan_devices`: an array of what `device_info` returns.
M.devices = {}

--- The short form of an address: "01:00.0" for "0000:01:00.0".
function M.canonical(address)
  return (address:gsub("^0000:", ""))
end

--- The full form of an address: "0000:01:00.0" for "01:00.0".
function M.qualified(address)
  return (address:gsub("^%x%x:%x%x%.%x+$", "0000:%0"))
end

-- As sysfs spells it.
local function full(address)
  return M.qualified(address):lower()
end

--- The device's directory in sysfs.
function M.path(address)
  return pci_device.path(full(address), sysfs.roots)
end

--- The Lua module whose `driver` is an app class for devices of these numbers.
M.which_driver = models.driver

--- The device's name, or nil if it isn't known.
M.which_model = models.name

--- The names of a driver's input and output links. All driver apps take both
--- "input" and "output" and "rx" and "tx".
function M.which_link_names(driver)
  if driver == "apps.solarflare.solarflare" then return "rx", "tx" end
  return "input", "output"
end

--- Can a device (from `device_info`) be opened as a port here and now?
function M.is_usable(info)
  if info.replacement then return true end
  return pci_device.is_usable(full(info.pciaddress), sysfs.roots)
end

--- What is known about the device at `address`: `pciaddress` (short form), `vendor`
--- and `device` ("0x8086"), `model`, `driver` (a Lua module's name), `rx` and `tx`
--- (names of its links), `interface` (the kernel's, if any) and `status` (of that),
--- `replacement` (the port string in its place), and `usable`: "yes", or false, so
--- that both `if info.usable` and `info.usable == "yes"` mean what they say.
--- No such device: a usage error.
function M.device_info(address)
  local replacement = replaced.by(full(address))
  local device = pci_device.read(full(address), sysfs.roots)
  if not device and not replacement then
    failure.usage("there is no PCI device %s", address)
  end
  device = device or {interfaces = {}}
  local info = {
    pciaddress = M.canonical(full(address)),
    vendor = device.vendor,
    device = device.device,
    model = replacement and "port " .. replacement
      or models.name(device.vendor, device.device),
    driver = models.driver(device.vendor, device.device),
    interface = device.interfaces[1],
    replacement = replacement,
  }
  info.rx, info.tx = M.which_link_names(info.driver)
  if info.interface then
    info.status = sysfs.line(("%s/class/net/%s/operstate")
      :format(sysfs.roots.sys, info.interface))
  end
  info.usable = M.is_usable(info) and "yes"
  return info
end

--- Fill `devices` with all PCI network devices and all replaced addresses, in order
--- of address.
function M.scan_devices()
  local addresses = pci_device.network_devices(sysfs.roots)
  local listed = {}
  for _, address in ipairs(addresses) do listed[address] = true end
  for address in pairs(replaced.all()) do
    if not listed[address] then addresses[#addresses + 1] = address end
  end
  table.sort(addresses)
  for i = #M.devices, 1, -1 do M.devices[i] = nil end
  for i, address in ipairs(addresses) do M.devices[i] = M.device_info(address) end
end

--- Print a line for each of `devices`.
function M.print_device_summary()
  local columns = {"pciaddress", "model", "interface", "status", "driver", "usable"}
  local format = "%-12s %-34s %-10s %-8s %-26s %s"
  print(format:format(unpack(columns)))
  for _, info in ipairs(M.devices) do
    local values = {}
    for i, column in ipairs(columns) do values[i] = tostring(info[column] or "-") end
    print(format:format(unpack(values)))
  end
end

--- A usage error unless the process is root.
function M.root_check()
  if unistd.geteuid() ~= 0 then
    failure.usage("access to PCI devices needs root; run it with sudo")
  end
end

--- Snabb takes the device from the kernel here. Nothing is done if DPDK can have it
--- already, or if another port is in its place; else a usage error says how to bind it.
function M.unbind_device_from_linux(address)
  if not M.device_info(address).usable then
    failure.usage("the PCI device %s isn't bound to vfio-pci; bind it with:"
      .. " perigee pci_bind -u %s --do", address, full(address))
  end
end

--- DPDK sets bus mastering and resets devices itself: nothing is done.
function M.set_bus_master() end

--- As set_bus_master.
function M.reset_device() end

for _, name in ipairs {"open_pci_resource", "open_pci_resource_locked",
  "open_pci_resource_unlocked", "map_pci_memory", "close_pci_resource"} do
  M[name] = function()
    failure.raise("lib.hardware.pci.%s: a device's registers belong to DPDK here; use"
      .. " the device by an app such as apps.intel_mp.intel_mp", name)
  end
end

return M
