-- SPDX-License-Identifier: Apache-2.0
-- One PCI device as sysfs shows it. Addresses are full and in lower case, as in
-- sysfs ("0000:01:00.0"); lib.hardware.pci has Snabb's functions over this.

local interfaces = require("lib.hardware.interfaces")
local sysfs = require("lib.hardware.sysfs")

local M = {}

-- Kernel drivers that give a device to DPDK, and those beside which DPDK's own driver
-- works (the kernel keeps the interface): DPDK 22.11, guides "Linux Drivers", "MLX5".
local FOR_DPDK = {["vfio-pci"] = true, ["igb_uio"] = true, ["uio_pci_generic"] = true}
local SHARED = {mlx4_core = true, mlx5_core = true, mana = true}

local NETWORK_CLASS = "^0x02"  -- PCI Code and ID Assignment Specification, class 02h

--- The full address in lower case ("0000:01:00.0") of a full or short one, or nil if
--- `text` isn't one.
function M.full_address(text)
  local domain, rest = text:match("^(%x%x%x%x+):(%x%x:%x%x%.[0-7])$")
  if not domain then
    domain, rest = "0000", text:match("^(%x%x:%x%x%.[0-7])$")
  end
  return rest and #domain <= 8 and (domain .. ":" .. rest):lower() or nil
end

--- The device's directory.
function M.path(address, roots)
  return ("%s/bus/pci/devices/%s"):format((roots or sysfs.roots).sys, address)
end

-- The interfaces under a device; those of virtio are a directory further down.
local function interfaces_of(path)
  local names = sysfs.entries(path .. "/net")
  for _, entry in ipairs(sysfs.entries(path)) do
    if entry:match("^virtio%d+$") then
      for _, name in ipairs(sysfs.entries(path .. "/" .. entry .. "/net")) do
        names[#names + 1] = name
      end
    end
  end
  return names
end

--- Are network devices of this kernel driver usable by DPDK ("vfio-pci", ...)?
function M.driver_is_for_dpdk(driver)
  return FOR_DPDK[driver] or SHARED[driver] or false
end

--- What is known of the device, or nil if there is none: `address`, `vendor` and
--- `device` (such as "0x8086"), `is_network`, `driver` (the kernel's, nil if unbound),
--- `for_dpdk` (can DPDK have it with that driver?), `interfaces` (kernel interfaces
--- on it), `numa` (node or nil), `group` (its IOMMU group, nil without IOMMU).
function M.read(address, roots)
  local path = M.path(address, roots)
  if not sysfs.exists(path) then return nil end
  local driver, numa = sysfs.link(path .. "/driver"), sysfs.number(path .. "/numa_node")
  return {
    address = address,
    vendor = sysfs.line(path .. "/vendor"),
    device = sysfs.line(path .. "/device"),
    is_network = (sysfs.line(path .. "/class") or ""):match(NETWORK_CLASS) ~= nil,
    driver = driver,
    for_dpdk = driver ~= nil and M.driver_is_for_dpdk(driver),
    interfaces = interfaces_of(path),
    numa = numa and numa >= 0 and numa or nil,
    group = sysfs.link(path .. "/iommu_group"),
  }
end

--- The addresses of all PCI network devices, sorted.
function M.network_devices(roots)
  local list = {}
  local path = (roots or sysfs.roots).sys .. "/bus/pci/devices"
  for _, address in ipairs(sysfs.entries(path)) do
    if M.read(address, roots).is_network then list[#list + 1] = address end
  end
  return list
end

--- Can DPDK have the device, and leave the default route alone?
function M.is_usable(address, roots)
  local device = M.read(address, roots)
  if not device or not device.is_network or not device.for_dpdk then return false end
  for _, name in ipairs(device.interfaces) do
    if interfaces.default_route_over(name, roots) then return false end
  end
  return true
end

--- The full addresses of the PCI network devices that DPDK can have here, sorted; an
--- array of strings.
function M.for_dpdk(roots)
  local list = {}
  for _, address in ipairs(M.network_devices(roots)) do
    if M.is_usable(address, roots) then list[#list + 1] = address end
  end
  return list
end

return M
