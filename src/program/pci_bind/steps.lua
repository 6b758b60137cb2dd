-- SPDX-License-Identifier: Apache-2.0
-- What pci_bind would write where in sysfs, and why it had better not. Reads, and
-- changes nothing. A step is {path =, text =}. Linux: Documentation/ABI/testing/
-- sysfs-bus-pci, driver_override.

local failure = require("core.failure")
local interfaces = require("lib.hardware.interfaces")
local owners = require("lib.hardware.owners")
local pci = require("lib.hardware.pci")
local pci_device = require("lib.hardware.pci_device")
local sysfs = require("lib.hardware.sysfs")

local steps = {}

--- The driver that gives a device to DPDK.
steps.DRIVER = "vfio-pci"

-- Drivers that only hold a device, for others (DPDK's guide, "Linux Drivers").
local FOR_DPDK_ALONE = {["vfio-pci"] = true, igb_uio = true, uio_pci_generic = true}

local ADDRESS = "^%x%x%x%x:%x%x:%x%x%.%x$"

--- The device (of lib.hardware.pci_device) at `address`, in its short or full form. A
--- usage error if there is none, or if it is no network device.
function steps.device(address, roots)
  local full = pci.qualified(address):lower()
  if not full:match(ADDRESS) then
    failure.usage("'%s' isn't a PCI address such as 01:00.0 or 0000:01:00.0", address)
  end
  local device = pci_device.read(full, roots)
  if not device then
    failure.usage("there is no PCI device %s; if it was removed, `perigee pci_bind "
      .. "--all --do` brings it back", full)
  elseif not device.is_network then
    failure.usage("%s is no network device: pci_bind leaves it alone", full)
  end
  return device
end

local function bus(roots, file)
  return roots.sys .. "/bus/pci/" .. file
end

-- Let the kernel look for a driver for the device, `override` if that is not "".
local function hand_over(device, override, roots)
  local path = pci_device.path(device.address, roots)
  local list = {{path = path .. "/driver_override", text = override .. "\n"}}
  if device.driver then
    list[2] = {path = path .. "/driver/unbind", text = device.address}
  end
  list[#list + 1] = {path = bus(roots, "drivers_probe"), text = device.address}
  return list
end

--- The steps that give the device to DPDK; none if DPDK can have it as it is.
function steps.to_dpdk(device, roots)
  if device.for_dpdk then return {} end
  return hand_over(device, steps.DRIVER, roots)
end

--- The steps that give it back to the kernel's own driver; none if that has it.
function steps.to_kernel(device, roots)
  if device.driver and not FOR_DPDK_ALONE[device.driver] then return {} end
  return hand_over(device, "", roots)
end

--- The step that makes the kernel forget the device.
function steps.remove(device, roots)
  return {{path = pci_device.path(device.address, roots) .. "/remove", text = "1"}}
end

--- The step that makes the kernel look for devices.
function steps.rescan(roots)
  return {{path = bus(roots, "rescan"), text = "1"}}
end

-- Why not ----------------------------------------------------------------------

local function upper_of(name, roots)
  for _, entry in ipairs(sysfs.entries(("%s/class/net/%s"):format(roots.sys, name))) do
    local upper = entry:match("^upper_(.+)$")
    if upper then return upper end
  end
end

local function use_of_interface(name, roots)
  if interfaces.is_up(name, roots) then
    return ("its interface %s is up; `ip link set %s down` takes it down"):format(name,
      name)
  end
  local upper = upper_of(name, roots)
  if upper then return ("its interface %s is part of %s"):format(name, upper) end
end

--- Is the machine reached through the device? The interface that carries the default
--- route over it, or nil. Nothing may be done then.
function steps.carries_default_route(device, roots)
  for _, name in ipairs(device.interfaces) do
    if interfaces.default_route_over(name, roots) then return name end
  end
end

--- What the device is in use for, as part of a sentence; nil if it isn't.
function steps.use(device, roots)
  local holders = owners.find(roots)
  local found = holders{group = device.group}
  for _, name in ipairs(device.interfaces) do
    local use = use_of_interface(name, roots)
    if use then return use end
    local index = interfaces.index(name, roots)
    for _, holder in ipairs(holders{index = index}) do found[#found + 1] = holder end
  end
  if found[1] then
    return ("process %d (%s) has it open"):format(found[1].pid, found[1].name)
  end
end

local NO_IOMMU = "/module/vfio/parameters/enable_unsafe_noiommu_mode"

--- Why the device can't be bound to vfio-pci here, as a sentence, or nil.
function steps.obstacle(device, roots)
  if not sysfs.exists(bus(roots, "drivers/" .. steps.DRIVER)) then
    return "the driver vfio-pci isn't loaded: `modprobe vfio-pci`"
  elseif not device.group and sysfs.line(roots.sys .. NO_IOMMU) ~= "Y" then
    return "the machine has no IOMMU in use: boot with intel_iommu=on or amd_iommu=on,"
      .. " or, where every program that uses the card may be trusted with all memory,"
      .. " `echo Y > /sys" .. NO_IOMMU .. "`"
  end
end

--- The other devices of its IOMMU group that a kernel driver has: DPDK gets the group
--- only as a whole. A list of addresses.
function steps.group_mates(device, roots)
  local list = {}
  if not device.group then return list end
  local path = ("%s/kernel/iommu_groups/%s/devices"):format(roots.sys, device.group)
  for _, address in ipairs(sysfs.entries(path)) do
    local other = address ~= device.address and pci_device.read(address, roots)
    if other and other.driver and not pci_device.driver_is_for_dpdk(other.driver)
      and other.driver ~= "pcieport" then
      list[#list + 1] = address
    end
  end
  return list
end

return steps
