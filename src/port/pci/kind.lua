-- SPDX-License-Identifier: Apache-2.0
-- A PCI device, named by its address.

local interrupts = require("lib.port.interrupts")
local needs = require("lib.port.needs")
local sriov_env = require("lib.hardware.sriov_env")
local one_queue = require("lib.hardware.one_queue")
local pci_device = require("lib.hardware.pci_device")
local unistd = require("posix.unistd")
local vfio_group = require("lib.hardware.vfio_group")
local tables = require("core.lib.tables")

-- For the kernel to take a device from a process that was killed.
local PATIENCE_SECONDS = 2

local pci = tables.copy({
  name = "pci", order = 11, by_flow = true,
  summary = "a PCI device bound to vfio-pci",
  show = "0000:01:00.0", written = "0000:01:00.0 or 01:00.0, PCIDEVICE_NAME",
  phrase = "a PCI address such as %s",
  takes_shared = true,
}, interrupts.of_card)

function pci.device(text)
  local address = pci_device.full_address(text) or sriov_env.device(text)
  if address then return {address = address, text = address} end
end

function pci.devargs(port) return {port.address} end

function pci.has_queues(port, roots)
  local device = pci_device.read(port.address, roots)
  return not (device and one_queue.is(device.vendor, device.device))
end

function pci.thing(port) return "pci " .. port.address end

local function bind_hint(address, device)
  local hint = ("perigee pci_bind -u %s --do (after modprobe vfio-pci)"):format(address)
  local iface = device.interfaces[1]
  if not iface then return hint end
  return ("%s, or use its kernel interface: xdp:%s or packet:%s")
    :format(hint, iface, iface)
end

local function existing_device(port, roots)
  local device = pci_device.read(port.address, roots)
  local there = needs.listed(pci_device.network_devices(roots))
  if not device then
    needs.refuse(port, "there is no PCI device %s; PCI network devices here: %s",
      port.address, there)
  elseif not device.is_network then
    needs.refuse(port, "the PCI device %s isn't a network device; those here: %s",
      port.address, there)
  end
  return device
end

function pci.check(port, roots)
  local device = existing_device(port, roots)
  for _, iface in ipairs(device.interfaces) do
    needs.no_default_route(port, iface, roots)
  end
  if not device.driver then
    needs.refuse(port, "the device has no kernel driver; bind it to vfio-pci with: %s",
      bind_hint(port.address, device))
  elseif not device.for_dpdk then
    needs.refuse(port, "the kernel driver '%s' has the device; bind it to vfio-pci "
      .. "with: %s", device.driver, bind_hint(port.address, device))
  end
  local group = device.group and ("%s/vfio/%s"):format(roots.dev, device.group)
  if device.driver == "vfio-pci" and group and unistd.access(group, "rw") ~= 0 then
    needs.refuse(port, "%s can't be opened; run as root, or give yourself the right "
      .. "with: chown $USER %s", group, group)
  end
end

--- The device can still be another process's.
function pci.before_open(port)
  local device = pci_device.read(port.address)
  if not device or device.driver ~= "vfio-pci" or not device.group then return end
  local had, holders = vfio_group.await(device.group, PATIENCE_SECONDS)
  if had then return end
  local names = {}
  for i, holder in ipairs(holders) do
    names[i] = ("%s (process %d)"):format(holder.name, holder.pid)
  end
  needs.refuse(port, "%s has the device, or another of its IOMMU group %s; end that "
    .. "first", names[1] and table.concat(names, ", ") or "another process",
    device.group)
end

return pci
