-- SPDX-License-Identifier: Apache-2.0
-- What of this machine can be a port: PCI network devices and kernel interfaces, as
-- plain tables. Reads sysfs and procfs; opens no device.

local check = require("lib.port.check")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")
local interfaces = require("lib.hardware.interfaces")
local models = require("lib.hardware.pci_models")
local owners = require("lib.hardware.owners")
local pci_device = require("lib.hardware.pci_device")
local spec = require("lib.port.spec")
local sysfs = require("lib.hardware.sysfs")

local M = {}

-- Why `port` can't be plugged, or nil.
local function problem_of(port, roots)
  local ok, err = pcall(check.ready, port, roots)
  if ok then return nil end
  if not failure.is(err) then error(err, 0) end
  local prefix = ("port '%s': "):format(port.text)
  local sentence = tostring(err)
  return sentence:sub(1, #prefix) == prefix and sentence:sub(#prefix + 1) or sentence
end

local function pci_entry(address, roots, find_owners)
  local device = pci_device.read(address, roots)
  local name = device.interfaces[1]
  local details = name and interfaces.details(name, roots) or {}
  return {
    port = address,
    description = models.name(device.vendor, device.device)
      or ("%s:%s"):format(device.vendor or "?", device.device or "?"),
    driver = device.driver,
    interfaces = device.interfaces,
    state = details.state,
    speed = details.speed,
    mtu = details.mtu,
    numa = device.numa,
    processes = find_owners {group = device.group, index = details.index},
    problem = problem_of(spec.parse_text(address), roots),
    replacement = spec.replacements()[address],
  }
end

local function interface_entry(name, roots, find_owners)
  local details = interfaces.details(name, roots)
  local ports = kinds.on_interface(name, details)
  return {
    port = ports[1],
    other_port = not problem_of(spec.parse(ports[2]), roots) and ports[2] or nil,
    description = details.driver or (details.is_tap and "TAP") or "virtual",
    driver = details.driver,
    interfaces = {name},
    state = details.state,
    speed = details.speed,
    mtu = details.mtu,
    numa = details.numa,
    processes = find_owners {index = details.index, tap = name},
    problem = problem_of(spec.parse(ports[1]), roots),
  }
end

--- Everything there is, as {pci = array, interfaces = array}. An entry has `port` (the
--- port string to use), `description`, `interfaces` (kernel interfaces, an array),
--- `processes` (those that hold it, see lib.hardware.owners), and where they are known
--- `driver`, `state`, `speed` (Mbit/s), `mtu` (bytes), `numa`, `other_port`,
--- `replacement`, and `problem`: why it can't be used and what to do.
function M.read(roots)
  roots = roots or sysfs.roots
  local find_owners = owners.find(roots)
  local found = {pci = {}, interfaces = {}}
  for _, address in ipairs(pci_device.network_devices(roots)) do
    table.insert(found.pci, pci_entry(address, roots, find_owners))
  end
  for _, name in ipairs(interfaces.names(roots)) do
    table.insert(found.interfaces, interface_entry(name, roots, find_owners))
  end
  return found
end

return M
